"""Linear attention that regresses in context: config, parameters, forward pass and loss.

    x_n, x ~ N(0, Lambda),  w ~ N(0, I_D),  y_n = <w, x_n>,  y = <w, x>
    z_n = (y_n, x_n),  z = (0, x),  S = (1/N) (z z^T + sum_n z_n z_n^T)
    f = sum_h v_h^T S U_h x,   L = mean (y - f)^2

This is the label entry of Z + sum_h W_V Z Z^T W_KQ Z / N for the tokens Z = (z_1, ..., z_N, z):
v_h is the row of W_V that writes the label, U_h the columns of W_KQ that read the features, and
the others do not reach f. The label is the first entry of a token here and the last in the source.

Symbols, with their shapes:

    D, N, P      features, labeled examples of a prompt, training prompts
    H, R         heads, rank of the key and query weights of a head
    Lambda       diagonal; its entries fall as (D + 1 - d)^a and sum to tr Lambda
    beta (D,)    (1/N) sum_n y_n x_n, the part of S that a label and features make
    A (D, D)     f = beta^T A x: sum_h v_h U_h (merged), sum_h v_h sum_r k_hr q_hr^T (separate)

The forms `merged` and `separate` keep the blocks of v_h and U_h at zero that would make f even in
w. On the population with c = 0 these do not move from zero, as L does not change if w does its
sign. `literal` trains them too.

Source: "Training Dynamics of In-Context Learning in Linear Attention" (arXiv 2501.16265); the
minimum: "Trained Transformers Learn Linear Models In-Context" (arXiv 2306.09927). Written from
their formulas, which were derived again. The share of in-weight tasks is reconstructed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, size, static, traced
from jaxtheory.ops import draws, positions, sizes
from jaxtheory.texts.errors import InputError


class Data(fields.Config):
    """Hyper-parameters of the prompts."""

    dimension: Size = size(4, "D", "features of a token")
    length: Size = size(31, "N", "labeled examples of a prompt")
    num_prompts: Size = size(2000, "P", "training prompts")
    num_test: Size = size(2000, "Pt", "test prompts")
    spectrum: float = traced(
        1.0, "a", "eigenvalue d of Lambda falls as (D + 1 - d)^a", "(-inf, inf)"
    )
    total_variance: float = traced(1.0, "trL", "trace of Lambda", "(0, inf)")
    in_weight_share: float = traced(
        0.0, "c", "share of the prompts whose task is the same vector", "[0, 1]"
    )


class Config(Data):
    """Hyper-parameters of the prompts, the layer and its training."""

    heads: Size = size(8, "H", "heads")
    rank: Size = size(1, "R", "rank of the key and query weights of a head")
    learning_rate: float = traced(0.5, "eta", "learning rate", "(0, inf)")
    initial_scale: float = traced(0.03, "sigma", "scale of the initial weights", "(0, inf)")
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
    form: str = static(
        "separate", "form", "parametrization of A", ("separate", "merged", "literal")
    )
    start: str = static(
        "random", "start", "Gaussian weights, or balanced ones along Lambda", ("random", "aligned")
    )


class Batch(NamedTuple):
    """Prompts with the weights of their mean; padded prompts and features are zero."""

    S: Float[Array, "prompts tokens tokens"]  # tokens = D + 1, the label first
    x: Float[Array, "prompts D"]
    y: Float[Array, " prompts"]
    weight: Float[Array, " prompts"]  # 1/P, zero on padded prompts


class Moments(NamedTuple):
    """The moments in the loss of f = beta^T A x, which is L = c - 2 <b, A> + <A, G A>."""

    c: Float[Array, ""]  # E y^2
    b: Float[Array, "D D"]  # E y beta x^T
    G: Float[Array, "D D D D"]  # G_ijkl = E beta_i x_j beta_k x_l


class Problem(NamedTuple):
    """The training and test prompts, the moments of the training prompts, and the fixed task."""

    train: Batch
    test: Batch
    moments: Moments
    task: Float[Array, " D"]  # w of the share c of the prompts


class Merged(NamedTuple):
    """Heads with one matrix for keys and queries."""

    v: Float[Array, " H"]
    U: Float[Array, "H D D"]


class Separate(NamedTuple):
    """Heads with key and query weights of rank R."""

    v: Float[Array, " H"]
    K: Float[Array, "H R D"]
    Q: Float[Array, "H R D"]


class Literal(NamedTuple):
    """Heads with all weights that reach the output."""

    v: Float[Array, "H tokens"]
    U: Float[Array, "H tokens D"]


Params = Merged | Separate | Literal


def eigenvalues(config: Data) -> Float[Array, " D"]:
    """The eigenvalues of Lambda in falling order for a > 0; zero for padded features."""
    D = Size.wrap(config.dimension)
    index = jnp.asarray(positions.indices(D.cap), float)
    weight = jnp.where(D.mask(), jnp.where(D.mask(), D.real - index, 1) ** config.spectrum, 0)
    return config.total_variance * weight / jnp.sum(weight)


def init(key: Array, _problem: Problem, config: Config) -> Params:
    """The initial weights.

    random    Gaussian: v of standard deviation sigma, the entries of U, K and Q of sigma / sqrt(D)
    aligned   merged: v_h = sigma, U_h = sigma I / sqrt(D); separate: v_h = sigma, and both weights
              number r of head h are sigma e_d, d = h R + r modulo D

    Its `literal` form is the merged one with the other blocks at zero, for both starts.
    """
    D, H, R = (Size.wrap(n) for n in (config.dimension, config.heads, config.rank))
    sigma, root = config.initial_scale, jnp.sqrt(jnp.asarray(D.real, float))
    if config.start == "aligned":
        v = jnp.asarray(H.mask(), float)
        U = v[:, None, None] * sizes.eye(D)[None] / root
        h, r = positions.indices(H.cap)[:, None], positions.indices(R.cap)[None, :]
        d = (h * jnp.asarray(R.n, jnp.int32) + r) % jnp.asarray(D.n, jnp.int32)
        one = positions.indices(D.cap)[None, None, :] == d[:, :, None]
        K = Q = draws.masked(one.astype(float), H, R)
    else:
        for_v, *matrix_keys = jax.random.split(key, 4)
        v = draws.normal(for_v, H)
        U, K, Q = (
            draws.normal(matrix_key, *axes) / root
            for matrix_key, axes in zip(matrix_keys, ((H, D, D), (H, R, D), (H, R, D)), strict=True)
        )
    v, U, K, Q = (sigma * x for x in (v, U, K, Q))
    if config.form == "merged":
        return Merged(v, U)
    if config.form == "separate":
        return Separate(v, K, Q)
    return literal(Merged(v, U))


def matrix(params: Merged | Separate) -> Float[Array, "D D"]:
    """The matrix A of f = beta^T A x."""
    if isinstance(params, Separate):
        return jnp.einsum("h,hri,hrj->ij", params.v, params.K, params.Q)
    return jnp.einsum("h,hij->ij", params.v, params.U)


def literal(params: Merged | Separate | Literal) -> Literal:
    """The same function of a prompt, with all weights that reach the output."""
    if isinstance(params, Literal):
        return params
    U = params.U if isinstance(params, Merged) else jnp.einsum("hri,hrj->hij", *params[1:])
    v = jnp.pad(params.v[:, None], ((0, 0), (0, U.shape[2])))
    return Literal(v, jnp.pad(U, ((0, 0), (1, 0), (0, 0))))


def output(params: Params, batch: Batch) -> Float[Array, " prompts"]:
    """The output f of each prompt."""
    if isinstance(params, Literal):
        Ux = jnp.einsum("hij,pj->phi", params.U, batch.x)
        return jnp.einsum("hi,pik,phk->p", params.v, batch.S, Ux)
    beta = batch.S[:, 0, 1:]
    return jnp.sum(beta * (batch.x @ matrix(params).T), axis=1)


def loss(params: Params, batch: Batch, _problem: Problem, config: Config) -> Float[Array, ""]:
    """L = mean over prompts of (y - f)^2, without a factor 1/2."""
    fit(params, batch, config)
    return jnp.sum(batch.weight * (batch.y - output(params, batch)) ** 2)


def fit(params: Params, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(
        config, {"tokens": Size.wrap(config.dimension).cap + 1}, params=params, batch=batch
    )


def attention_map(params: Params, _problem: Problem, _config: Config) -> Array:
    """Linear attention has no map of weights that sum to 1."""
    raise InputError("linear attention has no attention map; look at the metric `components`")
