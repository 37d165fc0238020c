"""The source's inequalities with their constants.

They are about norms (appendix E), Lipschitz constants (F) and the Polyak-Lojasiewicz chain (G).

Matrix norms are Frobenius norms over all sequences together unless stated otherwise. ||X||_2 is the
spectral norm. The constants are derived, since those of the source are lost. None of them needs the
mask to be binary or clipped, except where ||M||_F <= d is assumed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.ops import linalg
from jaxtheory.theories.attention_pruning import calculus, model
from jaxtheory.theories.attention_pruning.model import Batch, Config, FusedMask, Params, Problem

# the bounds of `bound_ratio`
BOUNDS = (
    "lipschitz",
    "gradient_norm",
    "smallest_attention",
    "gram_floor",
    "smallest_weight",
    "chain",
    "attention_norm",
    "residual_norm",
    "part_norm",
    "logit_gradient_norm",
    "radius",
)
# A bound on the curvature of (1/2) ||softmax(z) - f*||^2, whose Hessian is
# J^2 + sum_j f_j (c_j - m)(e_j - f)(e_j - f)^T with m = <f, c>. It follows from
# ||J|| = ||diag f - f f^T|| <= 1/2 and |c_j - m| <= 2, and is loose by a factor 4.
ROW_CURVATURE = 1 / 4 + 2 / 2
ITERATIONS = 300  # of the power method
_X = (15 - 33**0.5) / 24
# 0.308117, the maximum of `two_entry_curvature`
SHARP_ROW_CURVATURE = 4 * _X**2 * (1 - _X) * (2 - 3 * _X)


def mask_norm(config: Config) -> Float[Array, ""]:
    """||M||_F <= d for a mask in [0, 1]. Source: lemma E.2, G.9."""
    return jnp.asarray(config.dimension.real, float)


def attention_norm(config: Config) -> Float[Array, ""]:
    """||f||_F <= sqrt(S n): each row is a probability vector. Source: lemma E.3."""
    return jnp.sqrt(jnp.asarray(config.num_sequences.real * config.length.real, float))


def residual_norm(config: Config) -> Float[Array, ""]:
    """||c||_F <= sqrt(2 S n), so L_attn <= n. Source: lemmas E.3 and G.8."""
    return jnp.sqrt(2.0) * attention_norm(config)


def logit_gradient_norm(c: Float[Array, "*rows n"]) -> Float[Array, ""]:
    """||p||_F <= (1/2) ||c||_F, since p = (diag f - f f^T) c row by row.

    Source: lemma E.3, constant derived (and attained).
    """
    return calculus.norm(c) / 2


def part_norm(c: Float[Array, "*rows n"], config: Config) -> Float[Array, ""]:
    """||p_1||_F, ||p_2||_F <= (1 - 1/n)^(1/2) ||c||_F for p_1 = f o c, p_2 = diag(p_1 1) f.

    Rows of c sum to 0. Source: lemma E.3, parts 8 and 9, constant derived (and attained).
    """
    return jnp.sqrt(1 - 1 / jnp.asarray(config.length.real, c.dtype)) * calculus.norm(c)


def radius(problem: Problem) -> Float[Array, ""]:
    """R, the least number with ||X_s||_F <= R and ||W||_F <= R.

    Source: assumption E.1, where R > 1 too, which no bound here needs.
    """
    inputs = jnp.sqrt(jnp.max(jnp.sum(problem.inputs**2, axis=(1, 2))))
    return jnp.maximum(inputs, calculus.norm(problem.weights))


def smoothness(radius: Float[Array, ""], config: Config) -> Float[Array, ""]:
    """L_g <= lambda + 1.25 R^6, the Lipschitz constant of grad L in R alone.

    Source: theorem F.8, constant derived.
    """
    return config.regularization + ROW_CURVATURE * radius**6


def squared_spectral_norms(inputs: Float[Array, "S L d"]) -> Float[Array, " S"]:
    """||X_s||_2^2 of each sequence."""
    return linalg.eigvalsh(inputs.mT @ inputs)[..., -1]


def largest_weight(problem: Problem) -> Float[Array, ""]:
    """The largest weight, max |W_ij|."""
    return jnp.max(jnp.abs(problem.weights))


def smallest_weight(problem: Problem, config: Config) -> Float[Array, ""]:
    """w_min = min |W_ij|, for which ||W o B||_F >= w_min ||B||_F. Source: lemma G.5."""
    return jnp.min(jnp.where(model.entries(config), jnp.abs(problem.weights), jnp.inf))


def gradient_norm(
    params: Params, c: Float[Array, "S L L"], batch: Batch, problem: Problem, config: Config
) -> Float[Array, ""]:
    """||grad L||_F <= (1/2) max|W| (1/S) sum_s ||X_s||_2^2 ||c_s||_F + lambda ||M||_F.

    It holds for a fused mask. Source: lemma E.4.
    """
    residuals = jnp.sqrt(jnp.sum(c**2, axis=(1, 2)))
    pull = jnp.sum(squared_spectral_norms(batch.inputs) * residuals) / config.num_sequences.real
    return largest_weight(problem) / 2 * pull + config.regularization * calculus.norm(params)


class Lipschitz(NamedTuple):
    """Lipschitz constants in a fused mask M.

    They are those of f and c, p_1 = f o c, p_2 = diag(p_1 1) f, p, and grad L.
    """

    attention: Float[Array, ""]
    p1: Float[Array, ""]
    p2: Float[Array, ""]
    logit_gradient: Float[Array, ""]
    gradient: Float[Array, ""]


def lipschitz(batch: Batch, problem: Problem, config: Config) -> Lipschitz:
    """Constants K max|W| (sum_s ||X_s||_2^4)^(1/2), and L_g for the gradient.

    K is the norm of a row's derivative in its logits, and

    L_g = lambda + 1.25 max|W|^2 (1/S) sum_s ||X_s||_2^4.

    K = 1/2 for f and c (attained); 1 for p_1' = (2f - f*) o f'; 1 + 1/sqrt 2 for p_2; 1.25 for p.
    Source: lemmas F.3-F.7 and theorem F.8, constants derived; those of p_1, p_2 and p are loose by
    factors of 2 to 4, and L_g by two orders of magnitude on Gaussian data.
    """
    fourth = squared_spectral_norms(batch.inputs) ** 2
    rows = largest_weight(problem) * jnp.sqrt(jnp.sum(fourth))
    gradient = (
        config.regularization
        + ROW_CURVATURE * largest_weight(problem) ** 2 * jnp.sum(fourth) / config.num_sequences.real
    )
    return Lipschitz(rows / 2, rows, (1 + 2**-0.5) * rows, ROW_CURVATURE * rows, gradient)


def two_entry_curvature(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """4 x^2 (1 - x)(2 - 3x), the eigenvalue of the Hessian of (1/2) ||softmax(z) - f*||^2.

    Here f = (x, 1 - x) and f* = (0, 1). The maximum over x, 0.308117, is the exact bound for rows
    of two tokens; for longer rows it is conjectured. Source: derived.
    """
    return 4 * x**2 * (1 - x) * (2 - 3 * x)


def log_attention_floor(
    z: Float[Array, "S L L"], mask: Bool[Array, "S L L"], config: Config
) -> Float[Array, ""]:
    """The logarithm of e^(-2 max|z|) / n, a lower bound on every permitted attention entry.

    Here z are the logits. Source: remark 4.2.
    """
    return -2 * jnp.max(jnp.abs(jnp.where(mask, z, 0))) - jnp.log(
        jnp.asarray(config.length.real, z.dtype)
    )


def smallest_attention(
    f: Float[Array, "*rows n"], mask: Bool[Array, "*rows n"]
) -> Float[Array, ""]:
    """delta = min f_ij over permitted entries, not over all, for which ||p||_F >= delta ||c||_F.
    Source: lemma G.7.
    """
    return jnp.min(jnp.where(mask, f, jnp.inf))


def gram_floor(inputs: Float[Array, "S L d"], config: Config) -> Float[Array, ""]:
    """beta, the least eigenvalue of Z Z^T for Z = (X_1; ...; X_S), 0 where S n > d.

    With it ||sum_s X_s^T p_s X_s||_F >= beta ||p||_F. Source: lemma G.4, stated there for one
    sequence, where it needs n <= d.
    """
    Z = inputs.reshape(-1, inputs.shape[-1])
    # ascending reversed; the Sn leading values are those of Z Z^T
    spectrum = linalg.eigvalsh(Z.T @ Z)[::-1]
    rows = config.num_sequences.n * config.length.n
    least = spectrum[jnp.clip(jnp.asarray(rows, int) - 1, 0, spectrum.size - 1)]
    return jnp.where(rows <= config.dimension.n, jnp.maximum(least, 0), 0)


class Chain(NamedTuple):
    """The constants of ||grad L_attn||_F >= slope ||c||_F and of the PL inequality.

    The PL inequality is ||grad L||_F^2 >= (mu / 2)(L_attn - xi), with ||M||_F <= d.
    """

    slope: Float[Array, ""]
    mu: Float[Array, ""]
    xi: Float[Array, ""]


def chain(delta: Float[Array, ""], batch: Batch, problem: Problem, config: Config) -> Chain:
    """slope = w_min beta delta / S, mu = 2 S slope^2, xi = (lambda d / slope)^2 / S.

    They are for a fused mask whose attention is >= delta, from lemmas G.4, G.5, G.7 and (a - b)^2
    >= a^2/2 - b^2. At S = 1: mu = 2 (w_min beta delta)^2, xi = (lambda d / (w_min beta delta))^2.
    xi is infinite where beta or delta vanish. Source: lemma G.10, constants derived.
    """
    S = config.num_sequences.real
    slope = smallest_weight(problem, config) * gram_floor(batch.inputs, config) * delta / S
    return Chain(
        slope, 2 * S * slope**2, (config.regularization * mask_norm(config) / slope) ** 2 / S
    )


def convergence(
    t: Array | int,
    start: Float[Array, ""],
    mu: Float[Array, ""],
    xi: Float[Array, ""],
    config: Config,
) -> Float[Array, "*t"]:
    """The bound min over s < t of L_attn(M_s) <= 4 L(M_0) / (eta mu t) + xi.

    It is for gradient descent without momentum and eta <= 1/L_g, where start = L(M_0).

    Source: theorem 4.1 (eps = 4 L(M_0) / (eta mu T)), constants derived. Vacuous in practice: see
    `bound_ratio`.
    """
    eta = config.step_scale / config.regularization
    return 4 * start / (eta * mu * jnp.asarray(t, float)) + xi


def descent(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """L(M_0), which bounds L_attn(M_t) for all t under monotone descent.

    From M_0 = 1 it is lambda d^2 / 2, with no other assumption.
    """
    return model.loss(params, batch, problem, config)


def bound_ratio(
    params: Params, curvature: Float[Array, ""], problem: Problem, config: Config
) -> Float[Array, " bound"]:
    """The tightness of each bound of BOUNDS at the given mask, 0 where a lower bound is vacuous."""
    if not isinstance(params, FusedMask):
        return jnp.full((len(BOUNDS),), jnp.nan, curvature.dtype)
    batch = Batch(problem.inputs)
    f, c = model.residual(params, batch, problem, config)
    p = calculus.logit_gradient(f, c)
    B = calculus.outer_sum(p, batch.inputs)
    gradient, pull = calculus.gradient(params, batch, problem, config), problem.weights * B
    delta = smallest_attention(f, model.support(problem, config))
    slope, size = chain(delta, batch, problem, config).slope, calculus.norm
    pairs = (
        (curvature, lipschitz(batch, problem, config).gradient),
        (size(gradient), gradient_norm(params, c, batch, problem, config)),
        (delta * size(c), size(p)),
        (gram_floor(batch.inputs, config) * size(p), size(B)),
        (smallest_weight(problem, config) * size(B), size(pull)),
        (slope * size(c), size(pull) / config.num_sequences.real),
        (size(f), attention_norm(config)),
        (size(c), residual_norm(config)),
        (jnp.maximum(size(f * c), size(f * c - p)), part_norm(c, config)),
        (size(p), logit_gradient_norm(c)),
        (curvature, smoothness(radius(problem), config)),
    )
    return jnp.stack([low / jnp.where(high > 0, high, 1) for low, high in pairs])


def dense_sharpness(problem: Problem, config: Config) -> Float[Array, ""]:
    """||H||_2 of the Hessian of L at the dense attention, f = f*.

    It is found by the power method on

    H u = lambda u + W o (1/S) sum_s X_s^T (J^2 z_s) X_s,   z_s = X_s (W o u) X_s^T,

    with J = diag f* - f* f*^T for each row. It depends on f*, W and X alone: every mask that
    reproduces the attention has this Hessian, M = 1 among them. Source: derived (at c = 0
    Gauss-Newton is exact).
    """
    batch, W = Batch(problem.inputs), problem.weights
    f, X = model.target(batch, problem, config), problem.inputs
    J = lambda z: f * (z - jnp.sum(f * z, axis=-1, keepdims=True))

    def iterate(_: Array | int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        u = carry[0]
        pull = jnp.sum(X.mT @ J(J(model.logits(W * u, X))) @ X, axis=0)
        Hu = config.regularization * u + W * pull / config.num_sequences.real
        length = calculus.norm(Hu)
        return Hu / length, length

    u = jnp.where(model.entries(config), problem.uniform[2] - 0.5, 0)
    start = u / calculus.norm(u), jnp.zeros_like(calculus.norm(u))
    return jax.lax.fori_loop(0, ITERATIONS, iterate, start)[1]


def predict_boundary(problem: Problem, config: Config) -> Float[Array, ""]:
    """eta* = 2 (1 + beta) / ||H||_2, the largest step size at which descent on the mask settles.

    It settles at a mask that reproduces the attention; H is the Hessian there, ||H||_2 that of
    `dense_sharpness`. Theorem 4.1 allows 1 / L_g. eta* is exact for the quadratic at such a mask,
    and says nothing about the way there. Source: derived.
    """
    return 2 * (1 + config.momentum) / dense_sharpness(problem, config)
