"""Pruning of one layer: W_Q and W_K of its attention, the matrices of its MLP, W_V and W_O.

A layer is pruned on the output of the already pruned layers before it. All its matrices are pruned
on the inputs that they have in the unpruned layer.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxtheory.llama import masks, model
from jaxtheory.llama.config import Config
from jaxtheory.llama.masks import Fit, Masks
from jaxtheory.llama.model import Inputs, Layer
from jaxtheory.theories.attention_pruning.analyses import linear, pruning
from jaxtheory.theories.attention_pruning.analyses.linear import Rule

METHODS = ("dense", "magnitude", "wanda", "sparsegpt")
ATTENTION = ("gradient", *METHODS)
MATRICES = {
    "query": "attention",
    "key": "attention",
    "value": "attention",
    "output": "output",
    "gate": "mlp",
    "up": "mlp",
    "down": "down",
}
"""The field of Inputs that each matrix of a layer reads."""
_TEMPERATURES = 2.0 ** np.linspace(-1, 1, 33)  # candidate factors on the logits of a head


class Gradient(NamedTuple):
    """Settings of the gradient method, which prunes W_Q and W_K.

    Args:
        regularizations: The candidate values of lambda, the weight of ||M||^2 / 2 in the objective
            of the masks M (see `Fit`). The lambda and the stop (see `Fit.stops`) with the least
            attention error on the selection sequences are chosen.
        selection: The share of the calibration sequences that are used for this choice and not for
            the fit, in [0, 1). These are the last ones. 0 uses all sequences for both.
        ranking: "mask" prunes the entries with the smallest M, "magnitude_mask" those with the
            smallest |M o W|, where o is the entrywise product.
        update: True applies SparseGPT's update to the weights that are kept.
        fit: Settings of the fit of the masks.

    Example:
        >>> from jaxtheory import llama
        >>> llama.Gradient(regularizations=(2.4e-3,)).ranking
        'mask'
    """

    regularizations: tuple[float, ...] = (1.2e-3, 2.4e-3, 4.8e-3, 9.6e-3)
    selection: float = 0.0
    ranking: Literal["mask", "magnitude_mask"] = "mask"
    update: bool = False
    fit: Fit = Fit()


class LayerPlan(NamedTuple):
    """Methods that are applied to every layer.

    attention, mlp, value_output: the methods for W_Q and W_K, the MLP, and W_V and W_O.
    pattern: keep N of every M inputs, in place of a share of zeros.
    temperature: scale the logits of each query head by the best factor on the calibration
    sequences.
    """

    attention: str = "gradient"
    mlp: str = "dense"
    value_output: str = "dense"
    pattern: tuple[int, int] | None = None
    temperature: bool = False
    gradient: Gradient = Gradient()

    def method(self, matrix: str) -> str:
        """Return the method for a matrix of a layer."""
        if matrix in ("query", "key"):
            return self.attention
        return self.value_output if matrix in ("value", "output") else self.mlp

    def moments(self, read: str) -> Callable[[Array], Array | None]:
        """Return the function of inputs X that the methods need: X^T X, its diagonal, or None."""
        methods = {self.method(matrix) for matrix in MATRICES if MATRICES[matrix] == read}
        if "sparsegpt" in methods or ("gradient" in methods and self.gradient.update):
            return lambda X: X.T @ X
        return (lambda X: jnp.sum(X**2, axis=0)) if "wanda" in methods else lambda X: None


class Ratios(NamedTuple):
    """Shares of zeros in the matrices of the attention and of the MLP."""

    attention: float | Float[Array, ""]
    mlp: float | Float[Array, ""]

    def rule(self, matrix: str, plan: LayerPlan) -> Rule:
        """Return the rule for a matrix of a layer."""
        mlp = matrix in ("gate", "up", "down")
        return Rule(self.mlp if mlp else self.attention, plan.pattern)


class Choice(NamedTuple):
    """The choice of the gradient method: lambda and the share of the steps."""

    regularization: Float[Array, ""]
    stop: Float[Array, ""]


def _moments(layer: Layer, x: Float[Array, "S T d"], plan: LayerPlan, config: Config) -> Inputs:
    """Sum LayerPlan.moments of the inputs of the linear maps, one sequence at a time."""

    def moments(one: Array) -> Inputs:
        read = model.through(layer, one, config)[1]
        return Inputs(*(plan.moments(field)(X) for field, X in read._asdict().items()))

    def add(total: Inputs, one: Array) -> tuple[Inputs, None]:
        return jax.tree.map(jnp.add, total, moments(one)), None

    zeros = jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), jax.eval_shape(moments, x[0]))
    return jax.lax.scan(add, zeros, x)[0]


def _everywhere(weights: Float[Array, "m n"]) -> Bool[Array, "m n"]:
    """Return a mask that is True everywhere."""
    return jnp.ones(weights.shape, bool)


def _linear_map(
    method: str, weights: Float[Array, "m n"], gram: Any, rule: Rule
) -> Float[Array, "m n"]:
    """Prune a matrix by a method that uses no other matrix; gram: its LayerPlan.moments."""
    valid = _everywhere(weights)
    if method == "magnitude":
        return linear.magnitude(weights, rule, valid)
    if method == "wanda":
        squares = gram if gram.ndim == 1 else jnp.diagonal(gram)
        return linear.wanda(weights, squares, rule, valid)
    if method == "sparsegpt":
        return linear.sparsegpt(weights, gram, rule, valid)
    return weights


def _relative_attention_error(
    layer: Layer, target: Float[Array, "S G r T T"], x: Float[Array, "S T d"], config: Config
) -> Float[Array, ""]:
    """Return ||f - f*||_F / ||f*||_F over heads and sequences; target: f*, x: after RMSNorm."""
    return pruning.relative_error(model.attention(layer, x, config), target)


def _by_gradient(
    key: Array,
    layer: Layer,
    target: Float[Array, "S G r T T"],
    x: Float[Array, "S T d"],
    gram: Any,
    rule: Rule,
    options: Gradient,
    config: Config,
) -> tuple[Layer, Choice]:
    """Prune W_Q and W_K by fitted masks; gram: X^T X if options.update."""
    fitted = round((1 - options.selection) * len(x))
    selection = slice(fitted if options.selection else 0, None)

    def prune(mask: Array, weights: Array) -> Array:
        scores = mask if options.ranking == "mask" else jnp.abs(mask * weights)
        support = rule.matrix_mask(scores, _everywhere(weights))
        if not options.update:
            return jnp.where(support, weights, 0)
        return linear.sparsegpt(weights, gram, rule, _everywhere(weights), support)

    def try_one(regularization: Array) -> tuple[Masks, Array]:
        at_stops = masks.fit_masks(
            key, target[:fitted], layer, x[:fitted], regularization, rule, options.fit, config
        )
        pruned = jax.vmap(lambda M: Masks(prune(M.query, layer.query), prune(M.key, layer.key)))(
            at_stops
        )
        errors = jax.lax.map(
            lambda W: _relative_attention_error(
                replace(layer, query=W.query, key=W.key), target[selection], x[selection], config
            ),
            pruned,
        )
        best = jnp.argmin(jnp.where(jnp.isnan(errors), jnp.inf, errors))
        return jax.tree.map(lambda W: W[best], pruned), jnp.stack(
            [errors[best], best.astype(errors.dtype)]
        )

    at_once = max(1, model.LOGITS_AT_ONCE // target.size)
    lambdas = jnp.asarray(options.regularizations, x.dtype)
    pruned, scores = jax.lax.map(try_one, lambdas, batch_size=min(at_once, len(lambdas)))
    best = jnp.argmin(jnp.where(jnp.isnan(scores[:, 0]), jnp.inf, scores[:, 0]))
    stop = jnp.asarray(options.fit.stops, x.dtype)[scores[best, 1].astype(int)]
    chosen = replace(layer, query=pruned.query[best], key=pruned.key[best])
    return chosen, Choice(lambdas[best], stop)


def _tempered(
    layer: Layer, target: Float[Array, "S G r T T"], x: Float[Array, "S T d"], config: Config
) -> Layer:
    """Scale the queries of each head by the factor of _TEMPERATURES with the least attention error.

    Heads that share one RMSNorm, which undoes every factor on W_Q, get one factor, on its scale.
    """
    z = model.scores(model.project(layer, x, config), config)

    def error(alpha: Array) -> Array:
        gap = model.causal_softmax(alpha * z, config) - target
        return jnp.sum(gap**2, axis=(0, 3, 4)).reshape(-1)

    factors = jnp.asarray(_TEMPERATURES, z.dtype)
    errors = jax.lax.map(error, factors)
    if layer.query_norm is not None:
        best = factors[jnp.argmin(jnp.sum(errors, axis=1))]
        return replace(layer, query_norm=layer.query_norm * best)
    best = jnp.repeat(factors[jnp.argmin(errors, axis=0)], config.head_dim)
    bias = None if layer.query_bias is None else layer.query_bias * best
    return replace(layer, query=layer.query * best[None, :], query_bias=bias)


@partial(jax.jit, static_argnames=("plan", "config"))
def prune_layer(
    key: Array,
    layer: Layer,
    stream: Float[Array, "S T d"],
    ratios: Ratios,
    plan: LayerPlan,
    config: Config,
) -> tuple[Layer, Choice]:
    """Prune a layer on the calibration stream before it; weights keep their dtype."""
    dense = model.wide(layer)
    gram = _moments(dense, stream, plan, config)
    x = model.rms_norm(stream, dense.input_norm, config)
    target = model.attention(dense, x, config)
    pruned, choice = dense, Choice(jnp.asarray(jnp.nan), jnp.asarray(jnp.nan))
    for matrix, read in MATRICES.items():
        weights = _linear_map(
            plan.method(matrix),
            getattr(dense, matrix),
            getattr(gram, read),
            ratios.rule(matrix, plan),
        )
        pruned = replace(pruned, **{matrix: weights})
    if plan.attention == "gradient":
        pruned, choice = _by_gradient(
            key,
            pruned,
            target,
            x,
            gram.attention,
            ratios.rule("query", plan),
            plan.gradient,
            config,
        )
    if plan.temperature:
        pruned = _tempered(pruned, target, x, config)
    return jax.tree.map(lambda new, old: new.astype(old.dtype), pruned, layer), choice


@partial(jax.jit, static_argnames="config")
def attention_error(
    dense: Layer, pruned: Layer, stream: Float[Array, "S T d"], config: Config
) -> Float[Array, ""]:
    """Return the relative error of the attention of a pruned layer on the stream before it."""
    dense, pruned = model.wide(dense), model.wide(pruned)
    x = model.rms_norm(stream, dense.input_norm, config)
    return _relative_attention_error(pruned, model.attention(dense, x, config), x, config)


def zeros_wanted(ratios: Ratios, plan: LayerPlan, matrix: str, shape: tuple[int, int]) -> int:
    """Return the least number of entries of a matrix that must be zero."""
    m, n = shape
    method, rule = plan.method(matrix), ratios.rule(matrix, plan)
    if method == "dense":
        return 0
    if rule.pattern is not None:
        keep, group = rule.pattern
        return m // group * (group - keep) * n
    share = rule.ratio
    if method == "wanda":
        return n * int(pruning.count(share, m))
    if method == "sparsegpt":
        size = linear.BLOCK_SIZE
        return sum(int(pruning.count(share, min(size, m - i) * n)) for i in range(0, m, size))
    return int(pruning.count(share, m * n))
