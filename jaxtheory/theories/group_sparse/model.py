"""One softmax layer that classifies by one group of features out of D.

The module has its config, parameters, forward pass and loss.

    x_j ~ N(0, sigma_x^2 I_d),  j = 1..D;   y = sign <x_{j*}, v*>,  |v*| = 1,  sign(0) = +1
    h_j = [x_j; p_j],   p_j = (sin(i j pi / (D + 1)))_{i=1..D}
    S = softmax(H^T W H), column by column
    f = v^T H S 1_D, the sum over all queries,   L = mean log(1 + exp(-y f))

Symbols, with their shapes:

    d, D, n      features of a group, groups, samples
    X (d, D, n)  features, samples last
    S (D, D, n)  S_kj: weight of token k for query j; columns sum to 1
    v = [v1; v2], W = [[W11, W12], [W21, W22]]: blocks for features (d) and positions (D)
    j*           the relevant group, counted from 1
    P (D, D)     encodings, P^T P = rho I, rho = (D + 1) / 2

The downstream task has the same j*, another direction, and a margin: y <v~, x_{j*}> >= gamma.

Source: "Transformer Learns Optimal Variable Selection in Group-Sparse Classification" (arXiv
2504.08638), by its talk. The encoding ("orthogonal sines") is reconstructed: DST-I.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, concretely, size, static, traced
from jaxtheory.ops import attention, positions
from jaxtheory.texts.errors import InputError


class Config(fields.Config):
    """Hyper-parameters of the data, the layer and its training."""

    group_dim: Size = size(4, "d", "features of a group", "[2, inf)")
    num_groups: Size = size(6, "D", "groups", "[2, inf)")
    relevant_group: int = traced(
        2, "jstar", "the group that decides the label, counted from 1", "[1, inf)"
    )
    num_samples: Size = size(500, "n", "training samples")
    learning_rate: float = traced(0.5, "eta", "learning rate of v and W", "(0, inf)")
    noise_scale: float = traced(1.0, "sigma_x", "standard deviation of a feature", "(0, inf)")
    margin: float = traced(0.2, "gamma", "margin of the downstream data along v~", "[0, inf)")
    downstream_samples: Size = size(200, "m", "downstream samples, taken one after the other")
    downstream_rate: float = traced(0.1, "eta2", "learning rate downstream", "(0, inf)")
    pretraining_steps: int = traced(
        0, "tau", "steps of pre-training before the downstream ones; 0 with start=", "[0, inf)"
    )
    momentum: float = traced(0.9, "beta", "momentum, and Adam's first decay rate", "[0, 1)")
    decay_steps: int = traced(
        100, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )
    features: str = static(
        "gaussian",
        "features",
        "law of the downstream features",
        ("gaussian", "uniform", "rademacher"),
    )
    attention: str = static(
        "frozen",
        "attention",
        "W downstream: kept, trained on, or trained from 0",
        ("frozen", "trained", "scratch"),
    )
    partition: Any = static(
        "contiguous", "partition", "'contiguous', or D tuples of d coordinates out of 0..dD-1", ()
    )

    def violations(self) -> list[str]:
        """Conditions between fields; those on traced values are skipped while tracing."""
        conflicts = []
        d, D = self.group_dim.n, self.num_groups.n
        if concretely(lambda j, groups: j > groups, self.relevant_group, D):
            conflicts.append(
                f"relevant_group (jstar) = {self.relevant_group} exceeds num_groups (D) = {D}: "
                f"choose one of 1..{D}"
            )
        if self.partition != "contiguous" and concretely(
            lambda d, D: not _covers(self.partition, int(d), int(D)), d, D
        ):
            conflicts.append(
                f"partition = {self.partition!r}: give 'contiguous', or num_groups (D) = {D} "
                f"tuples of group_dim (d) = {d} coordinates "
                f"that hold each of 0..{d * D - 1} once"
            )
        return conflicts


def _covers(partition: Any, d: int, D: int) -> bool:
    """True if a partition is D tuples of d coordinates that hold each of 0..dD-1 once."""
    groups = partition if isinstance(partition, tuple) else ()
    right = len(groups) == D and all(isinstance(g, tuple) and len(g) == d for g in groups)
    return right and sorted(i for g in groups for i in g) == list(range(d * D))


class Batch(NamedTuple):
    """Samples with the weights of their mean."""

    x: Float[Array, "d D samples"]
    y: Float[Array, " samples"]  # +-1, zero on padded samples
    weight: Float[Array, " samples"]  # 1/n, zero on padded samples


class Problem(NamedTuple):
    """The fixed sets of both tasks, and their directions of length 1."""

    train: Batch
    test: Batch
    downstream: Batch  # before the margin, see `data.moved`
    downstream_test: Batch
    truth: Float[Array, " d"]  # v*
    downstream_truth: Float[Array, " d"]  # v~


class Params(NamedTuple):
    """The layer, block by block: v = [v1; v2], W = [[W11, W12], [W21, W22]]."""

    v1: Float[Array, " d"]
    v2: Float[Array, " D"]
    W11: Float[Array, "d d"]
    W12: Float[Array, "d D"]
    W21: Float[Array, "D d"]
    W22: Float[Array, "D D"]


class Tuned(NamedTuple):
    """A layer in training on the downstream task: the same function of X, judged on that task."""

    layer: Params


class Linear(NamedTuple):
    """The linear predictor on vec(X): f = sum_ij beta_ij X_ij."""

    beta: Float[Array, "d D"]


def fit(params: Params | Tuned | Linear, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, params=params, batch=batch)


def relevant(config: Config) -> Float[Array, " D"]:
    """The indicator vector of j*."""
    return (
        positions.indices(config.num_groups.cap)
        == jnp.asarray(config.relevant_group, jnp.int32) - 1
    ).astype(float)


def encodings(config: Config) -> Float[Array, "D D"]:
    """The encodings P_ij = sin(i j pi / (D + 1)) for the true D; zero beyond.

    P is a symmetric matrix with P^T P = rho I, rho = (D + 1) / 2.
    """
    D = Size.wrap(config.num_groups)
    return positions.sines(D, D)


def init(_key: Array, _problem: Problem, config: Config) -> Params:
    """The zero start, v = 0 and W = 0."""
    d, D = config.group_dim.cap, config.num_groups.cap
    return Params(*(jnp.zeros(shape) for shape in ((d,), (D,), (d, d), (d, D), (D, d), (D, D))))


def positional(
    params: Params, config: Config
) -> tuple[Float[Array, " D"], Float[Array, "d D"], Float[Array, "D d"], Float[Array, "D D"]]:
    """P^T v2, W12 P, P^T W21 and A = P^T W22 P.

    They do not depend on the sample, so they need not be multiplied per sample.
    """
    P = encodings(config)
    return P.T @ params.v2, params.W12 @ P, P.T @ params.W21, P.T @ params.W22 @ P


def scores(params: Params, x: Float[Array, "d D n"], config: Config) -> Float[Array, "D D n"]:
    """The scores h_k^T W h_j = x_k^T (W11 x_j + W12 p_j) + p_k^T W21 x_j + p_k^T W22 p_j.

    This takes (2 D + d) d D products a sample, not (d + 2 D)(d + D) D.
    """
    _, query, key, A = positional(params, config)
    Q = jnp.einsum("ab,bjn->ajn", params.W11, x) + query[:, :, None]
    z = jnp.einsum("ka,ajn->kjn", key, x) + A[:, :, None]
    for a in range(
        len(x)
    ):  # samples run along the last axis, so that these short sums are vector operations
        z = z + x[a][:, None, :] * Q[a][None, :, :]
    return z


def select(z: Float[Array, "D D n"], config: Config) -> Float[Array, "D D n"]:
    """The softmax of each column over its D keys; zero for padded keys and queries."""
    D = config.num_groups
    S = attention.softmax(z, D.mask()[:, None, None], axis=0)
    return S if D.value is None else jnp.where(D.mask()[None, :, None], S, 0)


def attend(params: Params, x: Float[Array, "d D n"], config: Config) -> Float[Array, "D D n"]:
    """The attention S, whose column j holds the weights that query j gives to the D keys."""
    return select(scores(params, x, config), config)


def token_values(params: Params, x: Float[Array, "d D n"], config: Config) -> Float[Array, "D n"]:
    """The values a_k = v^T h_k."""
    return jnp.einsum("a,akn->kn", params.v1, x) + (encodings(config).T @ params.v2)[:, None]


def output(
    params: Params | Tuned | Linear, x: Float[Array, "d D n"], config: Config
) -> Float[Array, " n"]:
    """f = sum_jk a_k S_kj of the layer, or sum_ij beta_ij X_ij of the linear predictor."""
    if isinstance(params, Tuned):
        return output(params.layer, x, config)
    if isinstance(params, Linear):
        return jnp.sum(params.beta[:, :, None] * x, axis=(0, 1))
    return jnp.sum(
        token_values(params, x, config) * jnp.sum(attend(params, x, config), axis=1), axis=0
    )


def loss(
    params: Params | Tuned | Linear, batch: Batch, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """L = mean over samples of log(1 + exp(-y f))."""
    fit(params, batch, config)
    return jnp.sum(batch.weight * jax.nn.softplus(-batch.y * output(params, batch.x, config)))


def attention_map(
    params: Params | Tuned, problem: Problem, config: Config
) -> Float[Array, "query key"]:
    """The attention S^T of each query to the D groups, averaged over the test samples."""
    if isinstance(params, Linear):
        raise InputError("the linear predictor has no attention")
    layer = params.layer if isinstance(params, Tuned) else params
    S = attend(layer, problem.test.x, config)
    return jnp.einsum("kjn,n->jk", S, problem.test.weight)
