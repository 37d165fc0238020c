"""Functions to observe along training: attention, norms, spectra, gradient norm, sharpness.

An observable is a function of (params, problem, config) that returns one array. `sweep` records
those of `observe={name: function}` as it records metrics:

    sweep(..., observe={"sharpness": observables.sharpness(theory), "norm": observables.norm})

`norm`, `norms` and `attention` are observables themselves; the other functions return one. Those
that need a batch or the start of a run draw them from the key of the run, so that they differ
between seeds and are the same at each step.
"""

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from jaxtheory.core.extended import WEIGHTS, named_weights
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Theory
from jaxtheory.ops import draws, lanczos
from jaxtheory.ops.linalg import eigh, quotient
from jaxtheory.texts.errors import InputError, suggest

BY_NAME = ("attention", "norm", "norms", "gradient_norm", "sharpness", "distance_from_start")
_BATCH = 3  # the stream of a run key from which batches of observables are drawn

__all__ = [*BY_NAME, "alignment", "margin_direction", "on_batch", "singular_values"]


def attention(
    params: Any, problem: Any, config: Any, *, theory: Any = None, key: Any = None
) -> Float[Array, "..."]:
    """Attention map [query, key] of a theory, or [layer, head, query, key] of a network, averaged.

    For a network it is the mean over the test sequences of the maps that the network sows as
    "attention", or over a batch from `key` where there are no test sequences. For another theory it
    is the function `attention_map(params, problem, config)` of the module that defines its Config,
    whose docstring says over which sequences and heads it averages. A sweep passes `theory` and
    `key` itself.

    Args:
        params: Parameters of a theory, such as those that `jaxtheory.load_params` returns.
        problem: A problem of the theory.
        config: A config of the theory.
        theory: The theory of a network; None for another theory.
        key: A key from which a network without test sequences draws a batch.

    Returns:
        An array; its sum over the last axis is 1 for softmax attention.

    Raises:
        InputError: The theory defines no attention map, or the network sows none.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import group_sparse
        >>> data = jaxtheory.sweep(
        ...     group_sparse, group_sparse.Config(), steps=5,
        ...     observe={"attention": jaxtheory.observables.attention},
        ...     dims={"attention": ("query", "key")},
        ... )
        >>> dict(data.attention.sizes)
        {'seed': 1, 'step': 6, 'query': 6, 'key': 6}
    """
    values: Array
    if theory is not None and (of_network := _network_map(theory_of(theory))) is not None:
        values = of_network(params, problem, config, key)
        return values
    module = sys.modules.get(type(config).__module__)
    attention_map = getattr(module, "attention_map", None)
    if attention_map is None:
        raise InputError(
            "observables.attention: the theory defines no attention map; define "
            "attention_map(params, problem, config) beside its Config, or pass theory= for a "
            "network"
        )
    values = attention_map(params, problem, config)
    return values


def _network_map(theory: Theory) -> Callable | None:
    """Return the function of the attention maps of a network, or None for another theory."""
    attention_map: Callable | None = getattr(theory.init, "attention_map", None)
    return attention_map


@dataclasses.dataclass(frozen=True)
class _NetworkAttention:
    """Attention of a network to a key position, for each layer, head and query, averaged."""

    function: Callable
    keyed: bool = True

    def __call__(self, params: Any, problem: Any, config: Any, key: Array) -> Array:
        values: Array = self.function(params, problem, config, jax.random.fold_in(key, _BATCH))
        return values


def _attention_of(theory: Theory) -> Callable[..., Array]:
    """Return the observable `attention` of a theory."""
    attention_map = _network_map(theory)
    return attention if attention_map is None else _NetworkAttention(attention_map)


vars(attention)["of_theory"] = _attention_of  # a sweep calls it with its theory


def norm(params: Any, problem: Any, config: Any) -> Float[Array, ""]:
    """Euclidean norm of all parameters, (sum of the squares of all entries)^(1/2).

    Args:
        params: Parameters of a theory.
        problem: Not used.
        config: Not used.

    Returns:
        A number.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> float(jaxtheory.observables.norm({"v": jnp.array([3.0, 4.0])}, None, None))
        5.0
    """
    del problem, config
    return jnp.sqrt(_squares(params))


def norms(params: Any, problem: Any, config: Any) -> Float[Array, " array"]:
    """Frobenius norm of each array of the parameters, in their order.

    Args:
        params: Parameters of a theory.
        problem: Not used.
        config: Not used.

    Returns:
        One number per array.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> params = {"a": jnp.array([3.0, 4.0]), "b": jnp.eye(4)}
        >>> jaxtheory.observables.norms(params, None, None).tolist()
        [5.0, 2.0]
    """
    del problem, config
    return jnp.stack([jnp.sqrt(_squares(leaf)) for leaf in jax.tree.leaves(params)])


@dataclasses.dataclass(frozen=True)
class _SingularValues:
    """Singular values of a matrix of the parameters, in descending order."""

    name: str

    def __call__(self, params: Any, problem: Any, config: Any) -> Float[Array, "... rank"]:
        matrix = _array(params, self.name)
        if matrix.ndim < 2:
            raise InputError(
                f"singular_values({self.name!r}): the array has shape {matrix.shape}, but a matrix "
                "is needed"
            )
        values: Array = jnp.linalg.svd(matrix, compute_uv=False)
        return values


def singular_values(name: str) -> Callable[[Any, Any, Any], Array]:
    """Return the observable "singular values of this matrix, in descending order".

    Args:
        name: The name of an array of the parameters, as in params_NAME of a dataset. An array of
            more than two axes is a stack of matrices along its leading axes.

    Returns:
        An observable of shape [..., min(rows, columns)].

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> values = jaxtheory.observables.singular_values("W")
        >>> values({"W": jnp.diag(jnp.array([1.0, -3.0]))}, None, None).tolist()
        [3.0, 1.0]
    """
    return _SingularValues(name)


@dataclasses.dataclass(frozen=True)
class _Alignment:
    """Cosine of the angle between two arrays of the parameters."""

    one: str
    other: str

    def __call__(self, params: Any, problem: Any, config: Any) -> Float[Array, ""]:
        a, b = _array(params, self.one), _array(params, self.other)
        if a.shape != b.shape:
            raise InputError(
                f"alignment({self.one!r}, {self.other!r}): the shapes {a.shape} and {b.shape} "
                "differ"
            )
        return quotient(jnp.sum(a * b), jnp.sqrt(_squares(a)) * jnp.sqrt(_squares(b)))


def alignment(one: str, other: str) -> Callable[[Any, Any, Any], Array]:
    """Return the observable <A, B> / (|A| |B|) of two arrays of the parameters.

    Args:
        one: The name of the array A.
        other: The name of the array B, of the same shape.

    Returns:
        An observable in [-1, 1], which is 0 where an array is zero.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> cosine = jaxtheory.observables.alignment("a", "b")
        >>> float(cosine({"a": jnp.array([1.0, 0.0]), "b": jnp.array([0.0, 2.0])}, None, None))
        0.0
    """
    return _Alignment(one, other)


@dataclasses.dataclass(frozen=True)
class _MarginDirection:
    """Cosine of the angle between a matrix of the parameters and a constant one."""

    solution: tuple[tuple[float, ...], ...]  # a tuple, so that equal observables are equal
    matrix: str | Callable

    def __call__(self, params: Any, problem: Any, config: Any) -> Float[Array, ""]:
        if callable(self.matrix):
            W = jnp.asarray(self.matrix(params, problem, config))
        else:
            W = _array(params, self.matrix)
        S = jnp.asarray(self.solution, W.dtype)
        if W.shape != S.shape:
            raise InputError(
                f"margin_direction: the matrix has shape {W.shape} and the solution {S.shape}"
            )
        size = jnp.sqrt(_squares(W)) * jnp.sqrt(_squares(S))
        return jnp.where(size == 0, 0, jnp.sum(W * S) / jnp.where(size == 0, 1, size))


def margin_direction(
    solution: Float[ArrayLike, "d e"], matrix: str | Callable[[Any, Any, Any], Array] = "W"
) -> Callable[[Any, Any, Any], Array]:
    """Return the observable <W, S> / (|W|_F |S|_F) of a matrix W and its max-margin solution S.

    Gradient descent on attention scores x_j^T W z is predicted to send it to 1 as W grows. The
    solution comes from `jaxtheory.max_margin`, which cannot run within a sweep, so it is the same
    for all runs. If each seed has data of its own, keep the weights (`save_params`) and compare
    afterwards, with `jaxtheory.load_problem(data, seed=...)`.

    Source: arXiv 2308.16898, 2306.13596.

    Args:
        solution: The matrix S (d, e).
        matrix: The name of the array W of the parameters, or a function of (params, problem,
            config) that returns it, for a theory that trains W in another form.

    Returns:
        An observable in [-1, 1], which is 0 where W or S is zero and NaN where S is NaN.

    Raises:
        InputError: `solution` is not a matrix of numbers.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> S = jaxtheory.max_margin([[[1.0, 0.0], [0.0, 0.0]]], [[1.0, 0.0]], [0])
        >>> cosine = jaxtheory.observables.margin_direction(S)
        >>> round(float(cosine({"W": jnp.array([[3.0, 4.0], [0.0, 0.0]])}, None, None)), 6)
        0.6
    """
    try:
        S = np.asarray(solution, float)
    except (TypeError, ValueError):
        S = np.zeros(0)
    if S.ndim != 2:
        raise InputError("margin_direction: the solution must be a matrix of numbers (d, e)")
    return _MarginDirection(tuple(map(tuple, S.tolist())), matrix)


@dataclasses.dataclass(frozen=True)
class _OnBatch:
    """A function of (params, batch, problem, config) on a batch drawn from the key of the run."""

    sample: Callable
    function: Callable
    keyed: bool = True  # `core.extended` passes the key of the run

    def __call__(self, params: Any, problem: Any, config: Any, key: Array) -> Array:
        batch = self.sample(jax.random.fold_in(key, _BATCH), problem, config)
        values: Array = self.function(params, batch, problem, config)
        return values


def on_batch(theory: Any, function: Callable[..., Array]) -> Callable[..., Array]:
    """Return an observable that evaluates a function on a batch of the theory's `sample`.

    The batch is the same at each step, and another one than those that the run is trained on,
    except for theories whose `sample` returns a fixed training set.

    Args:
        theory: A theory, its module or its name.
        function: A function of (params, batch, problem, config) that returns one array.

    Returns:
        An observable.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import low_rank
        >>> observe = {"batch_loss": jaxtheory.observables.on_batch(low_rank, low_rank.loss)}
        >>> data = jaxtheory.sweep(low_rank, low_rank.Config(), steps=2, observe=observe)
        >>> data.batch_loss.dims
        ('seed', 'step')
    """
    return _OnBatch(theory_of(theory).sample, function)


@dataclasses.dataclass(frozen=True)
class _GradientNorm:
    """Euclidean norm of the gradient of the loss on a batch."""

    gradient: Callable

    def __call__(self, params: Any, batch: Any, problem: Any, config: Any) -> Float[Array, ""]:
        return jnp.sqrt(_squares(self.gradient(params, batch, problem, config)))


def gradient_norm(theory: Any) -> Callable[..., Array]:
    """Return the observable "Euclidean norm of the gradient of the loss", on a batch.

    Args:
        theory: A theory, its module or its name. Its closed gradient is used, in the parameters
            that the algorithm shows.

    Returns:
        An observable; see `on_batch` for the batch.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import low_rank
        >>> observe = {"gradient_norm": jaxtheory.observables.gradient_norm(low_rank)}
        >>> data = jaxtheory.sweep(low_rank, low_rank.Config(), steps=2, observe=observe)
        >>> bool((data.gradient_norm > 0).all())
        True
    """
    theory = theory_of(theory)
    return _OnBatch(theory.sample, _GradientNorm(theory.gradient))


@dataclasses.dataclass(frozen=True)
class _Sharpness:
    """Largest eigenvalue of the Hessian of the loss on a batch."""

    loss: Callable
    iterations: int
    tolerance: float

    def __call__(self, params: Any, batch: Any, problem: Any, config: Any) -> Float[Array, ""]:
        flat, unravel = ravel_pytree(params)
        slope = jax.grad(lambda x: self.loss(unravel(x), batch, problem, config))
        product = lambda v: jax.jvp(slope, (flat,), (v,))[1]
        basis, matrix = lanczos.restricted(product, flat, min(self.iterations, flat.size))
        values, vectors = eigh(matrix)
        v = vectors[:, -1] @ basis
        error = jnp.sqrt(_squares(product(v) - values[-1] * v))
        shown = error <= self.tolerance * jnp.max(jnp.abs(values))  # False for NaN
        return jnp.where(shown, values[-1], jnp.nan)


def sharpness(
    theory: Any, *, iterations: int = 30, tolerance: float = 1e-3
) -> Callable[..., Array]:
    """Return the observable "largest eigenvalue of the Hessian of the loss", on a batch.

    Lanczos with full reorthogonalization, on Hessian-vector products H v (forward over reverse
    differentiation): mu is the largest eigenvalue of H in the space of a fixed vector and its
    products, v its vector in it. The products go on to the last, whatever mu does: near a saddle,
    where eigenvalues come in pairs +-s, an estimate can stand still far below s. A product costs
    about four evaluations of the loss, so record it at few steps.

    Args:
        theory: A theory, its module or its name.
        iterations: The number of products, in [1, inf), or the number of parameters if that is
            less, which makes the result exact. As many vectors of the size of the parameters are
            held in memory.
        tolerance: The result is NaN where |H v - mu v| > tolerance |H|, with |H| estimated by the
            largest |eigenvalue| in the space, in (0, 1). Else H has an eigenvalue within
            tolerance |H| of the result.

    Returns:
        An observable; see `on_batch` for the batch. Gradient descent with step size eta on a fixed
        loss is unstable where it exceeds 2 / eta.

    Raises:
        InputError: `iterations` or `tolerance` is outside its range.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import group_sparse
        >>> observe = {"sharpness": jaxtheory.observables.sharpness(group_sparse)}
        >>> data = jaxtheory.sweep(group_sparse, group_sparse.Config(), steps=2, observe=observe)
        >>> bool((data.sharpness > 0).all())
        True
    """
    if draws.integer(iterations) is None or iterations < 1:
        raise InputError(f"iterations = {iterations!r}: must be an integer in [1, inf)")
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance = {tolerance!r}: must be in (0, 1)")
    theory = theory_of(theory)
    return _OnBatch(theory.sample, _Sharpness(theory.loss, int(iterations), float(tolerance)))


@dataclasses.dataclass(frozen=True)
class _FromStart:
    """Euclidean distance of the parameters from those at step 0."""

    init: Callable
    shown: Callable
    keyed: bool = True

    def __call__(self, params: Any, problem: Any, config: Any, key: Array) -> Float[Array, ""]:
        state = self.init(jax.random.fold_in(key, draws.INIT), problem, config)
        start = self.shown(state, problem, config)
        return jnp.sqrt(_squares(jax.tree.map(jnp.subtract, params, start)))


def distance_from_start(theory: Any, algorithm: str | None = None) -> Callable[..., Array]:
    """Return the observable "Euclidean distance of the parameters from those at step 0".

    The start is drawn again from the key of the run; a `start=` of the sweep does not count.

    Args:
        theory: A theory, its module or its name.
        algorithm: The algorithm of the sweep; None for the first.

    Returns:
        An observable.

    Raises:
        InputError: The theory has no such algorithm.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import low_rank
        >>> observe = {"moved": jaxtheory.observables.distance_from_start(low_rank)}
        >>> data = jaxtheory.sweep(low_rank, low_rank.Config(), steps=2, observe=observe)
        >>> float(data.moved[0, 0])
        0.0
    """
    theory = theory_of(theory)
    name = next(iter(theory.algorithms)) if algorithm is None else algorithm
    if name not in theory.algorithms:
        raise InputError(f"unknown algorithm {name!r}; {suggest(str(name), theory.algorithms)}")
    return _FromStart(theory.algorithms[name].init, theory.algorithms[name].params)


def by_name(name: str, theory: Theory, algorithm: str | None) -> Callable[..., Array]:
    """Return the observable of one of the names in BY_NAME, for the command line."""
    factories = {
        "gradient_norm": gradient_norm,
        "sharpness": sharpness,
        "distance_from_start": lambda theory: distance_from_start(theory, algorithm),
    }
    if name in factories:
        return factories[name](theory)
    plain: Callable[..., Array] = {"attention": attention, "norm": norm, "norms": norms}[name]
    return plain


def _squares(tree: Any) -> Float[Array, ""]:
    """Sum of the squares of all entries of a pytree."""
    return sum((jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)), jnp.zeros(()))


def _array(params: Any, name: str) -> Array:
    """The array of this name. Raises InputError if the parameters have none."""
    arrays = {n.removeprefix(WEIGHTS): leaf for n, leaf in named_weights(params).items()}
    if name not in arrays:
        raise InputError(f"the parameters have no array {name!r}; {suggest(name, arrays)}")
    return jnp.asarray(arrays[name])


def __dir__() -> list[str]:
    return sorted(__all__)
