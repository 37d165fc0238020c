"""Sparse contextual bigrams and a linear transformer: config, records and loss.

The next token depends on a few earlier ones, chosen by the last token. The contexts are drawn, then
the last token k = x_{T+1} picks one:

    x_1 .. x_{T+1} ~ mu independently,   k = x_{T+1},   s ~ q^(k),   y ~ P[:, x_s]
    p = X a^(k),   F = V p,   loss = 1/2 |e_y - V p|^2,   X = [e_{x_1} .. e_{x_T}]

Symbols, with their shapes:

    N, T, Q, B     tokens, length of the context, attended positions per column, batch size
    P  (N, N)      transition, column x is the law after token x: 1^T P = 1^T
    mu (N,)        stationary law, P mu = mu
    Q  (T, N)      context, column k = q^(k) is a law on positions
    P~ (N, N)      pre-trained transition with the same mu
    <A, B>_mu      sum_k mu_k <A_k, B_k>, the inner product used for matrices of either shape, with
                   norm |.|_mu
    V  (N, N)   value matrix, learns P
    D  (N, N)   diag(mu)
    A  (T, N)   attention, column k = a^(k), learns Q
    U  (T, N)   uniform attention 1 1^T / T

Source: arXiv 2410.23438, section 2 (columns, not rows, are transition laws). The draws of P and
Q are reconstructed.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, concretely, evaluation, size, static, traced
from jaxtheory.ops import draws

# Up to this many tokens, sums over a context are products with one-hot tokens. Beyond it they
# scatter and gather.
SELECTED = 8
LEAST_MU = 1e-4  # smallest stationary probability of a given P; gradients are divided by it


class Config(fields.Config):
    """Hyper-parameters. The defaults recover P and Q within 1000 steps from most tasks.

    The rates are the normalized ones: A moves by eta / K_P and V by eta / K_Q
    (`population.signals`), so that eta counts time for both.
    """

    num_states: Size = size(3, "N", "tokens of the vocabulary", "[2, inf)")
    length: Size = size(1000, "T", "tokens of a context", "[2, inf)")
    sparsity: Size = size(2, "Q", "positions that a context law attends to")
    batch_size: Size = size(256, "B", "fresh samples per step")
    l1: float = traced(
        1e-5, "lambda", "strength of the l1 term; 0 switches thresholding and prox off", "[0, inf)"
    )
    learning_rate: float = traced(0.02, "eta1", "learning rate before the switch", "(0, inf)")
    late_learning_rate: float = traced(0.01, "eta2", "learning rate from the switch on", "(0, inf)")
    switch_step: int = traced(400, "tau", "first step of the second stage", "[0, inf)", "steps")
    stage_threshold: float = traced(
        0.3,
        "theta0",
        "threshold during training, as a share of the column's largest entry",
        "[0, 1)",
    )
    threshold: float = evaluation(
        0.3,
        "theta",
        "threshold of the final rounding, as a share of the column's largest entry",
        "(0, 1)",
    )
    concentration: float = traced(
        1.0, "alpha0", "concentration of the Dirichlet law of P's columns", "(0, inf)"
    )
    stationary_floor: float = traced(
        0.1,
        "mu0",
        "smallest stationary probability that a drawn P should have; below 1/N",
        "[0, 1)",
    )
    correlation: float = traced(
        1.0, "rho", "correlation of the pre-trained transition with P", "(0, 1]"
    )
    pretrained_weight: float = traced(
        0.1, "thetap", "weight of the pre-trained transition in the initial V of transfer", "(0, 1]"
    )
    softmax_rate: float = traced(
        1.0, "kappa", "learning rate of softmax logits over eta T / K_P", "(0, inf)"
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
    prox: str = static(
        "two_case", "prox", "map of the second stage", ("two_case", "textbook", "simplex")
    )
    weights: str = static(
        "uniform", "weights", "weights within a context law", ("uniform", "unequal")
    )
    given: tuple | None = static(
        None, "P", "rows of a given transition matrix, None for a drawn one", ()
    )

    def violations(self) -> list[str]:
        """Conditions between fields; those on traced values are skipped while tracing."""
        N, T, Q = self.num_states.n, self.length.n, self.sparsity.n
        conflicts = []
        if concretely(lambda Q, T: Q > T, Q, T):
            conflicts.append(
                f"sparsity (Q) = {Q}: must be at most length (T) = {T}; lower Q or raise T"
            )
        elif self.weights == "uniform" and concretely(lambda Q, T: Q == T, Q, T):
            conflicts.append(
                f"sparsity (Q) = {Q} = length (T) with uniform weights: K_Q = 0, nothing to "
                "learn; lower Q or set weights=unequal"
            )
        if concretely(lambda N, rho: (N == 2) & (rho < 1), N, self.correlation):
            conflicts.append(
                f"correlation (rho) = {self.correlation}: must be 1 for two tokens, where mu "
                "leaves one direction; set rho=1"
            )
        if self.given is not None:
            conflicts += given_violations(self.given, N)
        elif concretely(lambda floor, N: floor * N >= 1, self.stationary_floor, N):
            conflicts.append(
                f"stationary_floor (mu0) = {self.stationary_floor}: must be in [0, 1/N) = [0, "
                f"{1 / np.max(N):g}); lower mu0"
            )
        return conflicts


def given_violations(given: Any, N: Any) -> list[str]:
    """The conditions that a given P violates: one line, or none."""
    label = "given (P)"
    try:
        P = np.asarray(given, float)
    except (TypeError, ValueError):
        return [f"{label} = {given!r}: must be a tuple of N rows of N numbers"]
    if P.ndim != 2 or P.shape[0] != P.shape[1] or concretely(lambda n: n != len(P), N):
        return [
            f"{label} has shape {P.shape}: must be (N, N) with num_states (N) = {N}; set "
            f"num_states={len(P)} or change P"
        ]
    if not np.all((P >= 0) & (P <= 1)) or not np.allclose(P.sum(axis=0), 1, rtol=0, atol=1e-9):
        return [
            f"{label} has columns with sums {P.sum(axis=0).tolist()}: entries must be in [0, 1] "
            "and columns sum to 1; transpose P?"
        ]
    steps = np.linalg.matrix_power((P > 0) | np.eye(len(P), dtype=bool), len(P))
    if not np.all(steps):
        return [
            f"{label} is reducible: a token has weight 0, or the stationary law is not unique; "
            "every token must lead to every other"
        ]
    mu = np.linalg.solve(np.eye(len(P)) - P + 1, np.ones(len(P)))
    if np.min(mu) < LEAST_MU:
        return [
            f"{label} has min mu = {np.min(mu):g}: must be in [{LEAST_MU:g}, 1], as gradients are "
            "divided by mu; make it less rare"
        ]
    if np.max(np.abs(P - mu[:, None])) < 1e-9:
        return [
            f"{label} is trivial, all its columns equal mu: K_P = 0, nothing to learn; make the "
            "columns differ"
        ]
    return []


class Problem(NamedTuple):
    """A task: P (N, N), mu (N,), Q (T, N) and a pre-trained P~ (N, N); zero beyond the sizes."""

    transition: Float[Array, "N N"]
    stationary: Float[Array, " N"]
    context: Float[Array, "T N"]
    pretrained: Float[Array, "N N"]


class Batch(NamedTuple):
    """Contexts x_1..x_T (uint8, int32 for more than 256 tokens), last tokens k and labels y.

    They are zero beyond the sizes.
    """

    tokens: Integer[Array, "B T"]
    query: Int[Array, " B"]
    label: Int[Array, " B"]


class Params(NamedTuple):
    """The parameters A (T, N) and V (N, N)."""

    attention: Float[Array, "T N"]
    value: Float[Array, "N N"]


def fit(params: Params, batch: Any, problem: Any, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, params=params, batch=batch, problem=problem)


def valid(config: Config) -> Bool[Array, "T N"]:
    """True for the entries of A within the sizes."""
    return config.length.mask()[:, None] & config.num_states.mask()[None, :]


def uniform_attention(config: Config) -> Float[Array, "T N"]:
    """Uniform attention U = 1 1^T / T, zero beyond the sizes."""
    return jnp.where(valid(config), 1 / jnp.asarray(config.length.real, float), 0)


def repeated(x: Float[Array, " N"], config: Config) -> Float[Array, "N N"]:
    """The matrix x 1^T, zero beyond N."""
    return jnp.where(config.num_states.mask()[None, :], x[:, None], 0)


def trivial_value(problem: Problem, config: Config) -> Float[Array, "N N"]:
    """The trivial value matrix mu 1^T, zero beyond N."""
    return repeated(problem.stationary, config)


def init(_key: Array, problem: Problem, config: Config) -> Params:
    """The start A = 1 1^T / T and V = mu 1^T, which attends everywhere and predicts mu. Source:
    section 2.3.
    """
    return Params(uniform_attention(config), trivial_value(problem, config))


def occurrences(batch: Batch, config: Config) -> Bool[Array, "B n T"]:
    """1[x_t = n] for every token n but the last, which has the rest of the positions.

    With padding it is for every column, as the last one is not the last token.
    """
    N, x = config.num_states, batch.tokens
    at = jnp.arange(N.cap if N.value is not None else N.cap - 1, dtype=x.dtype)
    return x[:, None, :] == at[None, :, None]


def occupancy(A: Float[Array, "T N"], batch: Batch, config: Config) -> Float[Array, "B N"]:
    """p = X a^(k) per sample, the attention that each token receives.

    Its sum is that of the column, 1^T a^(k).

    With few tokens the product X A is taken for all columns, since a product with a matrix is
    cheaper than masked sums of one column, and the last token gets the rest of the column's sum.
    With many tokens the sums are scattered.
    """
    N, k = config.num_states.cap, batch.query
    A = draws.masked(A, config.length)
    if N > SELECTED:
        rows = jnp.arange(len(k))[:, None]
        return jnp.zeros((len(k), N), A.dtype).at[rows, batch.tokens.astype(jnp.int32)].add(A.T[k])
    products = occurrences(batch, config).astype(A.dtype) @ A
    p = jnp.take_along_axis(products, k[:, None, None], axis=2)[:, :, 0]
    if p.shape[1] == N:
        return p
    # as terms, since XLA would take a sum over p as a second pass over X
    remainder = jnp.sum(A, axis=0)[k] - sum(p[:, n] for n in range(N - 1))
    return jnp.concatenate([p, remainder[:, None]], axis=1)


def residuals(
    params: Params, batch: Batch, config: Config
) -> tuple[Float[Array, "B N"], Float[Array, "B N"]]:
    """p and r = V p - e_y per sample."""
    fit(params, batch, None, config)
    p = occupancy(params.attention, batch, config)
    return p, p @ params.value.T - jax.nn.one_hot(batch.label, config.num_states.cap, dtype=p.dtype)


def loss(params: Params, batch: Batch, _problem: Problem, config: Config) -> Float[Array, ""]:
    """The mean over the batch of 1/2 |e_y - V p|^2.

    Source: equation (3), without the l1 term, which the proximal map applies.
    """
    _, r = residuals(params, batch, config)
    return jnp.sum(config.batch_size.weights() * jnp.sum(r**2, axis=1)) / 2


def attention_map(params: Params, problem: Any, config: Config) -> Float[Array, "N T"]:
    """The attention of each query word, one of N, to the T positions: A^T."""
    del problem, config
    return params.attention.T
