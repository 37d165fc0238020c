"""Pruning by scores, with exact counts and a stated rule for ties, and the error that it causes.

Exactly floor(rho n) of the n entries of a comparison group become zero: those with the smallest
scores; among equal scores the first ones (row-major order). The source prunes below a percentile
and leaves ties open.
"""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, UInt

from jaxtheory.ops.attention import softmax
from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.model import Batch, Config, FusedMask, Params, Problem

OCTAVES = tuple(2.0**k for k in range(-7, 2))  # factors tried on the logits


def count(ratio: Float[ArrayLike, ""], n: Int[ArrayLike, "*groups"]) -> Int[Array, "*groups"]:
    """floor(rho n), where a rho n within two roundings below an integer counts as that integer:
    0.29 of 100 is 29.
    """
    ratio = jnp.asarray(ratio)
    eps = jnp.finfo(ratio.dtype).eps
    return jnp.floor(ratio * jnp.asarray(n, ratio.dtype) * (1 + 2 * eps)).astype(int)


def sortable(scores: Float[Array, "*shape"]) -> UInt[Array, "*shape"]:
    """Unsigned integers in the order of the scores. -0 equals 0, and NaN comes last."""
    scores = jnp.where(jnp.isnan(scores), jnp.nan, jnp.where(scores == 0, 0, scores))
    size = jnp.finfo(scores.dtype).bits
    bits = jax.lax.bitcast_convert_type(scores, f"uint{size}")
    sign = jnp.asarray(1 << (size - 1), bits.dtype)
    return jnp.where(bits & sign, ~bits, bits | sign)


def smallest(
    scores: Float[ArrayLike, "n groups"],
    count: Int[ArrayLike, " groups"],
    valid: Bool[ArrayLike, "n groups"],
) -> Bool[Array, "n groups"]:
    """True for the `count` valid entries of each column with the smallest scores.

    Among equal scores the first ones count. The last of the `count` entries is found digit by
    digit, first its score and then its place among equal scores. This takes two passes per digit
    instead of a sort. A digit is one bit on CPU, and four on an accelerator, where short operations
    take as long as they are many.
    """
    width = 1 if jax.default_backend() == "cpu" else 4
    scores, count, valid = map(jnp.asarray, (scores, count, valid))
    keys = sortable(scores)
    places = jnp.broadcast_to(jnp.arange(len(keys), dtype=keys.dtype)[:, None], keys.shape)

    def last(
        values: UInt[Array, "n groups"], mask: Bool[Array, "n groups"], n: Array, bits: int
    ) -> Array:
        """The n-th smallest value: the largest t with fewer than n values below it."""

        digits, turns = jnp.arange(1, 2**width, dtype=values.dtype)[:, None], -(-bits // width)

        def digit(i: Array, t: Array) -> Array:
            shift = ((turns - 1 - i) * width).astype(t.dtype)
            trials = t[None] | jnp.left_shift(digits, shift)
            below = jnp.sum(mask[None] & (values[None] < trials[:, None]), axis=1)
            value = jnp.sum(below < n[None], axis=0, dtype=t.dtype)  # trials that are not too large
            return t | jnp.left_shift(value, shift)

        return jax.lax.fori_loop(0, turns, digit, jnp.zeros(values.shape[1], values.dtype))

    score = last(keys, valid, count, keys.dtype.itemsize * 8)
    below, equal = valid & (keys < score[None]), valid & (keys == score[None])
    remaining = count - jnp.sum(below, axis=0)
    place = last(places, equal, remaining, max(1, (len(keys) - 1).bit_length()))
    return below | (equal & (places <= place[None]) & (remaining > 0)[None])


def binarize(
    scores: Float[ArrayLike, "m n"], ratio: Float[ArrayLike, ""], valid: Bool[ArrayLike, "m n"]
) -> Bool[Array, "m n"]:
    """True where an entry is kept: all valid ones but the floor(rho #valid) of smallest score.

    Source: end of section 4.
    """
    column = (jnp.size(scores), 1)
    mask = binarize_columns(jnp.reshape(scores, column), ratio, jnp.reshape(valid, column))
    return mask.reshape(jnp.shape(scores))


def binarize_columns(
    scores: Float[ArrayLike, "m n"], ratio: Float[ArrayLike, ""], valid: Bool[ArrayLike, "m n"]
) -> Bool[Array, "m n"]:
    """`binarize` within each column."""
    return jnp.asarray(valid) & ~smallest(scores, count(ratio, jnp.sum(valid, axis=0)), valid)


def binarize_groups(scores: Float[ArrayLike, "m n"], keep: int, group: int) -> Bool[Array, "m n"]:
    """True for the `keep` largest scores of every `group` consecutive rows of a column.

    The number m of rows must be a multiple of the group.
    """
    m, n = jnp.shape(scores)
    groups = jnp.moveaxis(jnp.reshape(scores, (-1, group, n)), 1, 0).reshape(group, -1)
    mask = ~smallest(groups, jnp.full(groups.shape[1], group - keep), jnp.ones(groups.shape, bool))
    return jnp.moveaxis(mask.reshape(group, -1, n), 0, 1).reshape(m, n)


def prune(
    weights: Float[ArrayLike, "d d"], scores: Float[ArrayLike, "d d"], config: Config
) -> Float[Array, "d d"]:
    """Zero the floor(rho d^2) weights with the smallest scores.

    rho = 0 returns the weights unchanged.
    """
    return jnp.where(binarize(scores, config.pruning_ratio, model.entries(config)), weights, 0)


def pruned_weights(params: Params, problem: Problem, config: Config) -> Float[Array, "d d"]:
    """The weights after each fitted mask is made binary at pruning_ratio by itself.

    Its entries are ranked by M or by |M o W| as config.ranking says.
    """

    def by(mask: Float[Array, "d d"], weights: Float[Array, "d d"]) -> Float[Array, "d d"]:
        scores = mask if config.ranking == "mask" else jnp.abs(mask * weights)
        return prune(weights, scores, config)

    if isinstance(params, FusedMask):
        return by(params.mask, problem.weights)
    return by(params.query, problem.query) @ by(params.key, problem.key).T


def relative_error(f: Float[Array, "*S L L"], f_star: Float[Array, "*S L L"]) -> Float[Array, ""]:
    """||f - f*||_F / ||f*||_F, not squared, with both norms over all sequences together. Source:
    section 6.1, the square reconstructed.
    """
    return jnp.sqrt(jnp.sum((f - f_star) ** 2) / jnp.sum(f_star**2))


def error(
    weights: Float[Array, "d d"],
    inputs: Float[Array, "S L d"],
    f_star: Float[Array, "S L L"],
    mask: Bool[Array, "S L L"],
) -> Float[Array, ""]:
    """The relative error of the attention that `weights` give."""
    return relative_error(model.attention(weights, inputs, mask), f_star)


def doubled(f: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """softmax(2z) = f o f / rowsum(f o f) for f = softmax(z).

    It doubles the factor on the logits without an exponential.
    """
    square = f * f
    total = jnp.sum(square, axis=-1, keepdims=True)
    return square / jnp.where(total > 0, total, 1)


def best_logit_factor(
    z: Float[Array, "S L L"], f_star: Float[Array, "S L L"], mask: Bool[Array, "S L L"]
) -> Float[Array, ""]:
    """The factor alpha in [2^-7, 2] on the logits z whose attention has the least relative error.

    It is the best octave 2^k, or the half octave beside it. Most of the effect of pruning on
    attention is a change of its temperature, which one scalar repairs, so pruners are best compared
    after it.
    """

    def double(f: Array, _: None) -> tuple[Array, Array]:
        return doubled(f), relative_error(f, f_star)

    _, errors = jax.lax.scan(double, softmax(OCTAVES[0] * z, mask), None, len(OCTAVES))
    best = jnp.asarray(OCTAVES, z.dtype)[jnp.argmin(errors)]
    factors = jnp.clip(best * jnp.asarray([1, 2**-0.5, 2**0.5], z.dtype), OCTAVES[0], OCTAVES[-1])
    neighbor_errors = jax.vmap(lambda alpha: relative_error(softmax(alpha * z, mask), f_star))(
        factors[1:]
    )
    return factors[jnp.argmin(jnp.append(jnp.min(errors), neighbor_errors))]


def calibration(problem: Problem, config: Config) -> tuple[Array, Array, Array]:
    """Inputs, target attention and attention mask of the calibration sequences."""
    return (
        problem.inputs,
        model.target(Batch(problem.inputs), problem, config),
        model.support(problem, config),
    )


def heldout(problem: Problem) -> tuple[Array, Array, Array]:
    """Inputs, target attention and attention mask of the held-out sequences."""
    shape = len(problem.heldout), *problem.attention_mask.shape
    mask = jnp.broadcast_to(problem.attention_mask, shape)
    return problem.heldout, model.attention(problem.weights, problem.heldout, mask), mask


def plain_errors(
    weights: Float[Array, "pruner d d"], problem: Problem, config: Config
) -> dict[str, Float[Array, " pruner"]]:
    """Relative errors of pruned weights on calibration and held-out sequences."""
    splits = {
        "relative_error": calibration(problem, config),
        "relative_error_heldout": heldout(problem),
    }
    return {
        name: jax.vmap(error, (0, None, None, None))(weights, *sequences)
        for name, sequences in splits.items()
    }


def rescaled_errors(
    weights: Float[Array, "pruner d d"], problem: Problem, config: Config
) -> dict[str, Float[Array, " pruner"]]:
    """Relative errors at the logit factor best on the calibration sequences, and that factor."""
    inputs, f_star, mask = calibration(problem, config)

    def one(w: Float[Array, "d d"]) -> tuple[Array, Array, Array]:
        alpha = best_logit_factor(model.logits(w, inputs), f_star, mask)
        return error(alpha * w, inputs, f_star, mask), error(alpha * w, *heldout(problem)), alpha

    return dict(
        zip(
            ("relative_error_rescaled", "relative_error_rescaled_heldout", "logit_factor"),
            jax.vmap(one)(weights),
            strict=True,
        )
    )
