"""Pruning one layer: W_Q and W_K for its attention, the matrices of its MLP, and W_V and W_O.

Every matrix is pruned on what its layer reads behind the already pruned layers before it; the
matrices of one layer all on what the unpruned layer makes of that.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

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
"""Each matrix of a layer -> the field of Inputs that it reads."""
_TEMPERATURES = 2.0 ** np.linspace(-1, 1, 33)  # factors tried on the logits of a head


class Gradient(NamedTuple):
    """How the gradient method prunes W_Q and W_K.

    regularizations: the values of lambda that are tried; lambda and stop are those of least
    attention error on the last `selection` share of the sequences, which are then not fitted, or on
    all (0). ranking: "mask" prunes the smallest M, "magnitude_mask" the smallest |M o W|. update:
    SparseGPT's update of the weights that are kept. fit: how the masks are fitted.
    """

    regularizations: tuple[float, ...] = (1.2e-3, 2.4e-3, 4.8e-3, 9.6e-3)
    selection: float = 0.0
    ranking: str = "mask"
    update: bool = False
    fit: Fit = Fit()


class Plan(NamedTuple):
    """What is done to every layer: methods for W_Q and W_K, for the MLP, for W_V and W_O; N:M
    zeros (pattern) in place of a share; and whether each query head then gets the factor on its
    logits that is best on the calibration sequences.
    """

    attention: str = "gradient"
    mlp: str = "dense"
    value_output: str = "dense"
    pattern: tuple[int, int] | None = None
    temperature: bool = False
    gradient: Gradient = Gradient()

    def method(self, matrix: str) -> str:
        """The method for a matrix of a layer."""
        if matrix in ("query", "key"):
            return self.attention
        return self.value_output if matrix in ("value", "output") else self.mlp

    def moments(self, read: str) -> Callable[[Array], Array | None]:
        """What methods ask of the inputs X in a field of Inputs: X^T X, its diagonal, or None."""
        methods = {self.method(matrix) for matrix in MATRICES if MATRICES[matrix] == read}
        if "sparsegpt" in methods or ("gradient" in methods and self.gradient.update):
            return lambda X: X.T @ X
        return (lambda X: jnp.sum(X**2, axis=0)) if "wanda" in methods else lambda X: None


class Ratios(NamedTuple):
    """Share of zeros of the attention's matrices and of the MLP's."""

    attention: float | Float[Array, ""]
    mlp: float | Float[Array, ""]

    def rule(self, matrix: str, plan: Plan) -> Rule:
        """The rule for a matrix of a layer."""
        mlp = matrix in ("gate", "up", "down")
        return Rule(self.mlp if mlp else self.attention, plan.pattern)


class Choice(NamedTuple):
    """What the gradient method took: lambda and the share of the steps."""

    regularization: Float[Array, ""]
    stop: Float[Array, ""]


def _moments(layer: Layer, x: Float[Array, "S T d"], plan: Plan, config: Config) -> Inputs:
    """Plan.moments of what the linear maps read, over all tokens, one sequence at a time."""

    def of(one: Array) -> Inputs:
        read = model.through(layer, one, config)[1]
        return Inputs(*(plan.moments(field)(X) for field, X in read._asdict().items()))

    def add(total: Inputs, one: Array) -> tuple[Inputs, None]:
        return jax.tree.map(jnp.add, total, of(one)), None

    zeros = jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), jax.eval_shape(of, x[0]))
    return jax.lax.scan(add, zeros, x)[0]


def _everywhere(weights: Float[Array, "m n"]) -> Bool[Array, "m n"]:
    """All True."""
    return jnp.ones(weights.shape, bool)


def _linear_map(
    method: str, weights: Float[Array, "m n"], gram: Any, rule: Rule
) -> Float[Array, "m n"]:
    """One matrix pruned by a method that looks at no other; gram: its Plan.moments."""
    valid = _everywhere(weights)
    if method == "magnitude":
        return linear.magnitude(weights, rule, valid)
    if method == "wanda":
        squares = gram if gram.ndim == 1 else jnp.diagonal(gram)
        return linear.wanda(weights, squares, rule, valid)
    if method == "sparsegpt":
        return linear.sparsegpt(weights, gram, rule, valid)
    return weights


def _attention_error(
    layer: Layer, target: Float[Array, "S G r T T"], x: Float[Array, "S T d"], config: Config
) -> Float[Array, ""]:
    """||f - f*||_F / ||f*||_F over all heads and sequences; target f*, x after RMSNorm."""
    return pruning.relative_error(model.attention(layer.query, layer.key, x, config), target)


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
    """W_Q and W_K pruned by fitted masks; gram: X^T X if options.update."""
    fitted = round((1 - options.selection) * len(x))
    seen = slice(fitted if options.selection else 0, None)

    def prune(mask: Array, weights: Array) -> Array:
        scores = mask if options.ranking == "mask" else jnp.abs(mask * weights)
        kept = rule.whole(scores, _everywhere(weights))
        if not options.update:
            return jnp.where(kept, weights, 0)
        return linear.sparsegpt(weights, gram, rule, _everywhere(weights), kept)

    def try_one(regularization: Array) -> tuple[Masks, Array]:
        found = masks.fit(
            key, target[:fitted], layer, x[:fitted], regularization, rule, options.fit, config
        )
        pruned = jax.vmap(lambda M: Masks(prune(M.query, layer.query), prune(M.key, layer.key)))(
            found
        )
        errors = jax.lax.map(
            lambda W: _attention_error(
                replace(layer, query=W.query, key=W.key), target[seen], x[seen], config
            ),
            pruned,
        )
        best = jnp.argmin(jnp.where(jnp.isnan(errors), jnp.inf, errors))
        return jax.tree.map(lambda W: W[best], pruned), jnp.stack(
            [errors[best], best.astype(errors.dtype)]
        )

    at_once = max(1, model.LOGITS_AT_ONCE // target.size)
    tried = jnp.asarray(options.regularizations, x.dtype)
    pruned, found = jax.lax.map(try_one, tried, batch_size=min(at_once, len(tried)))
    best = jnp.argmin(jnp.where(jnp.isnan(found[:, 0]), jnp.inf, found[:, 0]))
    stop = jnp.asarray(options.fit.stops, x.dtype)[found[best, 1].astype(int)]
    return replace(layer, query=pruned.query[best], key=pruned.key[best]), Choice(tried[best], stop)


def _tempered(
    layer: Layer, target: Float[Array, "S G r T T"], x: Float[Array, "S T d"], config: Config
) -> Layer:
    """W_Q of each head times the factor of TEMPERATURES whose attention has the least error."""
    z = model.scores(model.project(layer.query, layer.key, x, config), config)

    def error(alpha: Array) -> Array:
        gap = model.causal_softmax(alpha * z) - target
        return jnp.sum(gap**2, axis=(0, 3, 4)).reshape(-1)

    factors = jnp.asarray(_TEMPERATURES, z.dtype)
    best = factors[jnp.argmin(jax.lax.map(error, factors), axis=0)]
    return replace(layer, query=layer.query * jnp.repeat(best, config.head_dim)[None, :])


@partial(jax.jit, static_argnames=("plan", "config"))
def prune(
    key: Array,
    layer: Layer,
    stream: Float[Array, "S T d"],
    ratios: Ratios,
    plan: Plan,
    config: Config,
) -> tuple[Layer, Choice]:
    """A layer pruned on the calibration stream before it; weights keep their type."""
    dense = model.wide(layer)
    gram = _moments(dense, stream, plan, config)
    x = model.rms_norm(stream, dense.input_norm, config)
    target = model.attention(dense.query, dense.key, x, config)
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
def error(
    dense: Layer, pruned: Layer, stream: Float[Array, "S T d"], config: Config
) -> Float[Array, ""]:
    """Relative error of the attention of a pruned layer on the stream before it."""
    dense, pruned = model.wide(dense), model.wide(pruned)
    x = model.rms_norm(stream, dense.input_norm, config)
    return _attention_error(pruned, model.attention(dense.query, dense.key, x, config), x, config)


def zeros_wanted(ratios: Ratios, plan: Plan, matrix: str, shape: tuple[int, int]) -> int:
    """How many entries of a matrix must be zero, at least."""
    m, n = shape
    method, rule = plan.method(matrix), ratios.rule(matrix, plan)
    if method == "dense":
        return 0
    if rule.pattern is not None:
        keep, of = rule.pattern
        return m // of * (of - keep) * n
    share = rule.ratio
    if method == "wanda":
        return n * int(pruning.count(share, m))
    if method == "sparsegpt":
        size = linear.BLOCK_SIZE
        return sum(int(pruning.count(share, min(size, m - i) * n)) for i in range(0, m, size))
    return int(pruning.count(share, m * n))
