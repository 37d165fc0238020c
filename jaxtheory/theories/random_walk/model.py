"""One softmax layer that predicts the next state of a walk on a circle.

The module has its config, records, forward pass and loss.

    s_1 ~ U{0..K-1},  s_{i+1} = s_i + 1 with probability p, else s_i - 1  (mod K)
    y = s_N is predicted from s_1..s_{N-1}
    xt_j = [e_{s_j}; p_j] for j < N,   xt_N = [0; p_N],   p_i = (sin(i k pi / (M + 1)))_{k=1..M}
    S = softmax_j(xt_j^T W xt_N),   f = V X S = V sum_{j<N} S_j e_{s_j},   L = mean ell(f_y)

Symbols, with their shapes:

    K, N, B, M   states, positions, sequences, encoding dimension
    s (B, N)     states s_1..s_{N-1}, zero at the query position N
    rho          |p_i|^2 = (M + 1) / 2
    H (B, K)     X S, the attention each state receives
    W            (K+M, K+M) attention matrix
    Pi (K, K)    transition matrix, Pi_ij = P(j after i)
    y (B,)       labels s_N
    S (B, N)     attention; S_N falls on the query, whose value is 0
    V (K, K)     value matrix
    u (K,), w (N,)   its reduction: z_j = u_{s_j} + w_j, z_N = w_N
    g (B, K), e (N,), C (B, K)   factors of S and H, see `Factored`

Arrays count states, positions and sequences from 0, so position N has index N - 1.

Source: "Towards Understanding Transformers in Learning Random Walks", arXiv 2511.23239, of which
only the abstract was read, and the talk "Transformers Learn Random Walk Prediction by Attending to
the Direct Parent State". The encoding is reconstructed: an orthogonal family of sines with M >= N.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, concretely, size, static, traced
from jaxtheory.ops import attention, draws, positions
from jaxtheory.ops.positions import indices
from jaxtheory.ops.sizes import sums
from jaxtheory.ops.states import at_state

FEW = 12  # up to so many states, masked sums are faster than a scatter (measured on 2 cores)
# words and sentences of the question-answering tasks, see `data`
VOCABULARY = tuple(
    "apple orange Based on the which type of fruit list appears most frequently sentence I prefer "
    "an to do".split()
)
SENTENCES = {
    "qa1": tuple("Based on the list ? ? ? ? ? which type of fruit appears most frequently".split()),
    "qa2": tuple(
        "Based on the sentence I prefer an ? to an ? which type of fruit do I prefer".split()
    ),
}


class Config(fields.Config):
    """Hyper-parameters of the walk, the layer and its training."""

    num_states: Size = size(6, "K", "states on the circle, or words of the vocabulary", "[3, inf)")
    length: Size = size(97, "N", "positions: N - 1 tokens and the query", "[2, inf)")
    clockwise_probability: float = traced(0.5, "p", "probability of a step clockwise", "[0, 1]")
    learning_rate: float = traced(1.0, "eta", "learning rate of V and W", "(0, inf)")
    epsilon: float = traced(0.1, "eps", "offset inside the log loss", "(0, inf)")
    num_sequences: Size = size(1000, "B", "training sequences; K in population mode")
    num_test: Size = size(1000, "Bt", "test sequences; K in population mode")
    encoding_dim: Size = size(
        1000, "M", "dimension of the positional encodings, at least N", "[2, inf)"
    )
    hidden_width: Size = size(19, "m", "hidden units of the mlp value")
    init_scale: float = traced(
        0.0, "sigma", "standard deviation of the initial V, W (and A)", "[0, inf)"
    )
    perturbation: float = traced(
        0.0,
        "delta",
        "standard deviation of a disturbance of the initial positional scores w",
        "[0, inf)",
    )
    momentum: float = traced(0.9, "beta", "momentum, and Adam's first decay rate", "[0, 1)")
    decay_steps: int = traced(
        1000, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )
    task: str = static("walk", "task", "data law", ("walk", "qa1", "qa2"))
    value: str = static("linear", "value", "f = V X S or f = A relu(V X S)", ("linear", "mlp"))
    tokens: str = static(
        "raw", "tokens", "xt_j as it is, or xt_j / |xt_j| inside the attention", ("raw", "unit")
    )
    loss_function: str = static("log", "ell", "loss of f_y", ("log", "square", "hinge"))
    population: bool = static(
        False, "population", "train and test on the exact law; p must be 0 or 1", (False, True)
    )

    def violations(self) -> list[str]:
        """Conditions between fields; those on traced values are skipped while tracing."""
        conflicts = []
        if concretely(lambda m, n: m < n, self.encoding_dim.n, self.length.n):
            conflicts.append(
                f"encoding_dim (M) = {self.encoding_dim.n} is below length (N) = {self.length.n}: "
                "orthogonal encodings need M >= N"
            )
        if self.task != "walk":
            words = len(SENTENCES[self.task])
            for name, symbol, want in (
                ("num_states", "K", len(VOCABULARY)),
                ("length", "N", words + 1),
            ):
                value = getattr(self, name).n
                if concretely(lambda a, b: a != b, value, want):
                    conflicts.append(
                        f"{name} ({symbol}) = {value}: task {self.task!r} has {want}; set "
                        f"{name}={want}"
                    )
        if self.population and (
            self.task != "walk"
            or concretely(lambda p: (p != 0) & (p != 1), self.clockwise_probability)
        ):
            conflicts.append(
                "population = True needs task = 'walk' and clockwise_probability (p) 0 or 1, "
                "where the law has K sequences"
            )
        if self.value == "mlp" and concretely(lambda sigma: sigma == 0, self.init_scale):
            conflicts.append(
                "init_scale (sigma) = 0 is a fixed point of value = 'mlp': set init_scale > 0, "
                "for instance 0.01"
            )
        return conflicts


class Batch(NamedTuple):
    """Sequences with the weights of their mean."""

    s: Int[Array, "batch N"]  # states, zero at the query position and beyond
    y: Int[Array, " batch"]
    weight: Float[Array, " batch"]  # 1/B, zero on padded rows


class Problem(NamedTuple):
    """The fixed training and test sequences.

    In population mode both are the K sequences of the law.
    """

    train: Batch
    test: Batch


class Reduced(NamedTuple):
    """The layer in K + N attention scalars.

    Along gradient descent it is exactly as expressive as the literal one.
    """

    V: Float[Array, "values K"]  # K, or m for value = mlp
    u: Float[Array, " K"]
    w: Float[Array, " N"]
    A: Float[Array, "K m"] | None = None


class Literal(NamedTuple):
    """The layer as the source writes it."""

    V: Float[Array, "values K"]
    W: Float[Array, "K+M K+M"]
    A: Float[Array, "K m"] | None = None


Params = Reduced | Literal


class Factored(NamedTuple):
    """Attention that depends on a token only through its position and its state.

    S_j = g_{s_j} e_j, S_N = last, H = g C with C_k = sum_{j < N, s_j = k} e_j.
    """

    g: Float[Array, "B K"]
    e: Float[Array, " N"]
    C: Float[Array, "B K"]
    last: Float[Array, " B"]


def fit(params: Params, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    rows = config.hidden_width if config.value == "mlp" else config.num_states
    shapes.check_shapes(config, {"values": rows}, params=params, batch=batch)


# Positions


def encodings(config: Config) -> Float[Array, "N M"]:
    """The rows p_i, `positions.sines`: p_i^T p_j = rho 1[i = j] for N <= M; zero beyond N and M."""
    return positions.sines(Size.wrap(config.length), Size.wrap(config.encoding_dim))


def token_norms(config: Config) -> tuple[Float[Array, ""], Float[Array, " N"], Float[Array, ""]]:
    """rho, and the numbers that divide xt_1..xt_N and xt_N itself.

    The divisors are 1 for raw tokens; |xt_j| = sqrt(1 + rho) for j < N and |xt_N| = sqrt(rho) for
    unit tokens.
    """
    N = config.length
    rho = (jnp.asarray(config.encoding_dim.real, float) + 1) / 2
    if config.tokens == "raw":
        return rho, jnp.ones(N.cap), jnp.ones(())
    return (
        rho,
        jnp.where(indices(N.cap) == N.n - 1, jnp.sqrt(rho), jnp.sqrt(1 + rho)),
        jnp.sqrt(rho),
    )


def rates(config: Config) -> tuple[Float[Array, ""], Float[Array, " N"]]:
    """The rates at which u and w move when W moves at rate 1.

    They are the squared norms of their directions in W. With n_j the divisor of xt_j, the rate of u
    is rho / (n_1^2 n_N^2); that of w_j is rho^2 / (n_j^2 n_N^2). raw tokens: rho and rho^2; unit
    tokens: 1 / (1 + rho), and rho / (1 + rho) for j < N, 1 for j = N.
    Source: derived; W enters z_j = xt_j^T W xt_N only through [e_k; 0]^T W xt_N and [0; p_j]^T W
    xt_N, which are orthogonal directions.
    """
    rho, n, n_query = token_norms(config)
    return rho / (n[0] * n_query) ** 2, (rho / (n * n_query)) ** 2


def scores(params: Params, config: Config) -> tuple[Float[Array, " K"], Float[Array, " N"]]:
    """The scores u_k = [e_k; 0]^T W xt_N and w_j = [0; p_j]^T W xt_N.

    Tokens are over their norms where they are unit, and z_j = u_{s_j} + w_j, z_N = w_N.
    """
    if isinstance(params, Reduced):
        return params.u, params.w
    K = config.num_states.cap
    _, n, n_query = token_norms(config)
    P = encodings(config)
    # W xt_N; the query's token part is 0
    image = params.W[:, K:] @ (jnp.take(P, config.length.n - 1, axis=0) / n_query)
    return image[:K] / n[0], P @ image[K:] / n


# The layer


def init(key: Array, _problem: Problem, config: Config) -> Reduced:
    """V ~ sigma N(0, 1) and the scores u, w that W ~ sigma N(0, 1) would give.

    w is disturbed by delta N(0, 1). sigma = 0: the zero start. The scores are independent: u_k ~
    sigma sqrt(rate_u) N(0, 1), w_j ~ sigma sqrt(rate_w) N(0, 1).
    """
    K, N, m, sigma = config.num_states, config.length, config.hidden_width, config.init_scale
    for_V, for_scores, for_A = jax.random.split(key, 3)
    rate_u, rate_w = rates(config)
    of_u, of_w, disturbance = draws.normal(for_scores, 3, max(K.cap, N.cap))
    u = draws.masked(sigma * jnp.sqrt(rate_u) * of_u[: K.cap], K)
    w = draws.masked(
        sigma * jnp.sqrt(rate_w) * of_w[: N.cap] + config.perturbation * disturbance[: N.cap], N
    )
    if config.value == "linear":
        return Reduced(sigma * draws.normal(for_V, K, K), u, w)
    return Reduced(sigma * draws.normal(for_V, m, K), u, w, sigma * draws.normal(for_A, K, m))


def attend(
    params: Params, batch: Batch, config: Config
) -> tuple[Float[Array, "B N"], Float[Array, "B K"]]:
    """S = softmax(z) over the N positions and H = X S.

    H_k = sum_{j < N, s_j = k} S_j is added in the order of positions. The order matters at p in {0,
    1}, N = rK + 1: equal attentions then sum to exactly equal H_k, and the symmetric run stays
    symmetric.
    """
    fit(params, batch, config)
    N = config.length
    u, w = scores(params, config)
    token = (indices(N.cap) < N.n - 1)[None, :]
    u = jnp.broadcast_to(u[None, :], (len(batch.s), len(u)))
    z = jnp.where(token, at_state(u, batch.s, axis=1), 0) + w[None, :]
    S = attention.softmax(z, N.mask()[None, :])
    H = _by_state(batch.s, jnp.where(token, S, 0), config.num_states.cap)
    return S, H


def factored(params: Params, batch: Batch, config: Config) -> tuple[Factored, Bool[Array, ""]]:
    """The factors of `attend`'s S and H, and a flag that says if they are exact.

    The factors take K + N exponentials. With t = max(max u + max w, w_N), w over the tokens: e_j =
    exp(w_j - max w), g_k = exp(u_k + max w - t) / Z, Z = sum_k exp(u_k + max w - t) C_k + exp(w_N -
    t). They are exact, that is S is right to within the root of the smallest normal float, if every
    sequence's sum_k exp(u_k - max u) C_k is above that root. Below it, terms that underflow may
    matter.
    """
    fit(params, batch, config)
    N, K = config.length, config.num_states
    u, w = scores(params, config)
    query = jnp.take(w, N.n - 1, axis=0)
    U, top_u = _exponentials(u, K.mask())
    e, top_w = _exponentials(w, indices(N.cap) < N.n - 1)
    C = _by_state(batch.s, e[None, :], K.cap)
    total = jnp.sum(U[None, :] * C, axis=1)
    top = jnp.maximum(top_u + top_w, query)
    tokens, query_weight = jnp.exp(top_u + top_w - top), jnp.exp(query - top)
    Z = tokens * total + query_weight
    exact = jnp.all(total > jnp.sqrt(jnp.finfo(total.dtype).tiny))
    return Factored(tokens * U[None, :] / Z[:, None], e, C, query_weight / Z), exact


def _exponentials(
    x: Float[Array, " n"], mask: Bool[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, ""]]:
    """exp(x - top), zero beyond the mask, and top = max x within it."""
    top = jnp.max(jnp.where(mask, x, -jnp.inf))
    return jnp.where(mask, jnp.exp(jnp.where(mask, x - top, 0)), 0), top


def _by_state(s: Int[Array, "B N"], e: Float[Array, "#B N"], K: int) -> Float[Array, "B K"]:
    """sum_j 1[s_j = k] e_j in the order of positions.

    It takes one pass over the tokens for few states, else a scatter.
    """
    if K <= FEW:
        return jnp.stack(sums(*(jnp.where(s == k, e, 0) for k in range(K)), axis=1)).T
    row = indices(s.shape[0])[:, None]
    return jnp.zeros((s.shape[0], K), e.dtype).at[row, s].add(e)


def spread_out(
    factors: Factored, batch: Batch, config: Config
) -> tuple[Float[Array, "B N"], Float[Array, "B K"]]:
    """`attend`'s S and H from their factors."""
    S = factors.e[None, :] * at_state(factors.g, batch.s, axis=1)
    at_query = indices(config.length.cap) == config.length.n - 1
    return jnp.where(at_query[None, :], factors.last[:, None], S), factors.g * factors.C


def output(params: Params, H: Float[Array, "B K"]) -> Float[Array, "B K"]:
    """f = V H, or A relu(V H)."""
    return H @ params.V.T if params.A is None else jax.nn.relu(H @ params.V.T) @ params.A.T


def label_output(params: Params, batch: Batch, H: Float[Array, "B K"]) -> Float[Array, " B"]:
    """f_y, zero on padded rows."""
    f_y = (
        jnp.sum(params.V[batch.y] * H, axis=1)
        if params.A is None
        else jnp.sum(params.A[batch.y] * jax.nn.relu(H @ params.V.T), axis=1)
    )
    return jnp.where(batch.weight > 0, f_y, 0)


def ell(f_y: Float[Array, "*n"], config: Config) -> Float[Array, "*n"]:
    """The loss of one sequence: -log(f_y + eps), (1 - f_y)^2 / 2 or max(0, 1 - f_y).

    The log is NaN where f_y <= -eps.

    Source: the log loss is the source's (the talk drops its sign); its failure theorem allows any
    loss of f_y, of which two are offered here.
    """
    if config.loss_function == "log":
        return -jnp.log(f_y + config.epsilon)
    return (1 - f_y) ** 2 / 2 if config.loss_function == "square" else jax.nn.relu(1 - f_y)


def loss(params: Params, batch: Batch, _problem: Problem, config: Config) -> Float[Array, ""]:
    """L = mean over sequences of ell(f_y)."""
    return loss_at(params, batch, attend(params, batch, config)[1], config)


def loss_at(
    params: Params, batch: Batch, H: Float[Array, "B K"], config: Config
) -> Float[Array, ""]:
    """mean over sequences of ell(f_y), from H = X S."""
    return jnp.sum(batch.weight * ell(label_output(params, batch, H), config))


def attention_map(params: Params, problem: Problem, config: Config) -> Float[Array, "query N"]:
    """The attention of the one query, at position N, averaged over the test sequences."""
    S, _ = attend(params, problem.test, config)
    return jnp.sum(problem.test.weight[:, None] * S, axis=0)[None, :]
