"""Comparison of a gradient derived by hand with autodiff and finite differences."""

import html
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code import traces
from jaxtheory.core.config import Config, Size, canonical, fields
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError, tried
from jaxtheory.verification import normalizers
from jaxtheory.verification.finite_differences import odd_entry
from jaxtheory.verification.gradient_diagnosis import AxisLength, explain

_SCALES = (0.1, 1.0, 10.0)  # of the random points around the parameters
_STEP = 1e-4  # of the finite differences, over max(1, |x|)
SMALL = 1e-6  # smallest scale of a leaf, over the largest gradient of all leaves or the loss
_EXAMINED = 40  # entries of a leaf at a point, those that differ most first


class Difference(NamedTuple):
    """One entry of a gradient at one point, by three methods.

    Args:
        leaf: The name of the leaf in the parameters.
        place: The index of the entry in its leaf.
        point: The name of the point, "as given" or "random, SCALE".
        yours: The entry of the gradient under test.
        autodiff: The derivative by automatic differentiation.
        finite_difference: The derivative by central finite differences.
        absolute: |yours - autodiff|.
        relative: The absolute difference over the largest entry of the leaf at this point.
        kink: True if the slopes to the left and right differ, where autodiff returns one choice.
    """

    leaf: str
    place: tuple[int, ...]
    point: str
    yours: float
    autodiff: float
    finite_difference: float
    absolute: float
    relative: float
    kink: bool

    @property
    def entry(self) -> str:
        """The place of the entry as words, such as "entry (0, 1) of weights"."""
        return f"entry {self.place} of {self.leaf}" if self.place else self.leaf


class Comparison(NamedTuple):
    """The result of `compare_gradients`; `print` shows it as a table.

    Args:
        agrees: True if the two gradients agree at all points, away from kinks of the loss.
        verdict: One sentence, with the mistake where a single one explains the difference.
        differences: The entries that differ most, the worst first.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxtheory
        >>> loss = lambda w: jnp.sum(w**2) / 2
        >>> comparison = jaxtheory.compare_gradients(loss, lambda w: w, jnp.ones(3))
        >>> comparison.agrees
        True
    """

    agrees: bool
    verdict: str
    differences: list[Difference]

    @property
    def largest(self) -> float:
        """The largest relative difference away from kinks, 0 if every entry is at a kink."""
        return max((d.relative for d in self.differences if not d.kink), default=0.0)

    def __str__(self) -> str:
        head = ("leaf", "index", "point", "yours", "autodiff", "difference", "absolute", "relative")
        rows: list[tuple[str, ...]] = [head]
        for d in self.differences:
            values = (d.yours, d.autodiff, d.finite_difference)
            index = ", ".join(map(str, d.place))
            cells = [d.leaf, f"({index})", d.point, *(f"{x:.6g}" for x in values)]
            cells += [f"{d.absolute:.1e}", f"{d.relative:.1e}" + (" kink" if d.kink else "")]
            rows.append(tuple(cells))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([self.verdict, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class PointGradients(NamedTuple):
    """Parameters and both gradients at one point, as trees of NumPy arrays.

    constant: autodiff with the normalizers of softmaxes as constants, computed where needed.
    """

    name: str
    params: Any
    yours: Any
    autodiff: Any
    constant: Any = None


@computes
def compare_gradients(
    loss: Callable,
    gradient: Callable,
    params: Any,
    *args: Any,
    key: int = 0,
    tolerance: float = 1e-8,
    rows: int = 8,
) -> Comparison:
    """Compare gradient(params, *args) with the derivative of loss(params, *args), in float64.

    The two are compared at `params` and at random points params + s N(0, 1) for s = 0.1, 1, 10.
    Every entry of every leaf is compared with autodiff. Finite differences along one direction for
    each leaf tell whether autodiff is the slope of the loss; the entries that differ most, and some
    others, are also compared with central finite differences (Richardson extrapolation).

    A leaf agrees if |yours - autodiff| <= tolerance * scale, where the scale is the largest entry
    of the leaf, and at least 1e-6 times the largest gradient of all leaves or the loss. At a kink
    of the loss, any slope between those to the left and right counts as right.

    The verdict names the entry that differs most. If a single mistake explains the whole difference
    (a factor, the sign, 1/n, a transposition, a shifted index, a missing multiple of the
    parameter), the verdict names it too.

    Args:
        loss: A function of (params, *args) that returns a real scalar.
        gradient: A function of (params, *args) that returns the gradient under test, with the
            structure of params.
        params: A pytree of floating-point arrays.
        *args: Further arguments of both functions, of any kind.
        key: The seed of the random points, an integer in [0, inf).
        tolerance: The largest relative difference that counts as agreement, in [0, inf).
        rows: The largest number of entries in `differences`.

    Returns:
        A `Comparison` with `agrees`, the `verdict` and the entries that differ most.

    Raises:
        InputError: A function cannot be called with these arguments; the gradient has another
            structure, shape or dtype than params; params contain integers or values that are not
            finite; or the loss is not finite at params.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxtheory
        >>> loss = lambda w: jnp.sum(w**2) / 2
        >>> comparison = jaxtheory.compare_gradients(loss, lambda w: 2 * w, jnp.ones(3))
        >>> comparison.agrees
        False
        >>> print(comparison.verdict)
        entry (0,) of params: yours 2, autodiff 1: factor 2, in all of params
    """
    _require_options(key, tolerance, rows)
    _require_functions(loss=loss, gradient=gradient)
    with traces.under(traces.code_of((loss, gradient))), numerics("float64"):
        params, args = _in_float64(params), tuple(_in_float64(x) for x in args)
        require_real(params)
        _require_finite(params)
        require_gradient_structure(loss, gradient, params, args)
        mine = _quickly(lambda p: gradient(p, *args))
        autodiff = _quickly(jax.grad(lambda p: loss(p, *args)))
        value = _quickly(lambda p: loss(p, *args))
        if not np.isfinite(float(value(params))):
            raise InputError(
                f"loss = {float(value(params))} at params: must be finite; choose other parameters"
            )
        points = []
        for name, p in _around(params, key):
            yours, right = jax.device_get((mine(p), autodiff(p)))
            if all(np.all(np.isfinite(x)) for x in jax.tree.leaves(right)):
                points.append(PointGradients(name, jax.device_get(p), yours, right))
        if not points:
            raise InputError(
                "autodiff of the loss is not finite at params or at any random point around "
                "them; choose other parameters"
            )
        differences = list(_differences(value, points, tolerance))
        if any(d.relative > tolerance and not d.kink for d in differences):
            constant = _quickly(jax.grad(normalizers.hold_normalizers(lambda p: loss(p, *args))))
            points = [p._replace(constant=jax.device_get(constant(p.params))) for p in points]
    names = _signature(loss)
    return _conclude(points, differences, tolerance, rows, _lengths_of([params, *args], names))


def _quickly(function: Callable) -> Callable:
    """Compile a function without optimization, as it is called a few times only."""
    return jax.jit(function, compiler_options=compiler_options(level=0))


def _in_float64(tree: Any) -> Any:
    """Cast floats and floating-point arrays to float64 and make a Config canonical."""

    def cast(x: Any) -> Any:
        if isinstance(x, Config):
            return canonical(x, np.float64)
        floats = isinstance(x, float) or jnp.issubdtype(getattr(x, "dtype", np.int32), np.floating)
        return jnp.asarray(x, np.float64) if floats else x

    return jax.tree.map(cast, tree, is_leaf=lambda x: isinstance(x, Config))


def _named(tree: Any) -> list[tuple[str, Any]]:
    """List (name, leaf) of a pytree. The name of a single array is "params"."""
    return [
        (jax.tree_util.keystr(path, simple=True, separator=".") or "params", leaf)
        for path, leaf in jax.tree.leaves_with_path(tree)
    ]


def _signature(function: Callable) -> list[str]:
    """Return the names of a function's arguments, or [] if Python does not know them."""
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def _require_functions(**functions: Any) -> None:
    """Raise InputError for an argument that is not a function."""
    for name, function in functions.items():
        if not callable(function):
            raise InputError(
                f"{name} is a {type(function).__name__}, expected a function of (params, *args)"
            )


def _require_options(key: Any, tolerance: Any, rows: Any) -> None:
    """Raise InputError for options of `compare_gradients` out of their range."""
    for name, value in (("key", key), ("rows", rows)):
        if not isinstance(value, int | np.integer) or value < 0:
            raise InputError(f"{name} = {value!r}: must be an integer in [0, inf)")
    if not isinstance(tolerance, int | float | np.number) or not 0 <= tolerance < np.inf:
        raise InputError(f"tolerance = {tolerance!r}: must be a number in [0, inf)")


def require_real(params: Any) -> None:
    """Raise InputError for parameters that are not real floating-point numbers."""
    if not jax.tree.leaves(params):
        raise InputError("params holds no numbers; give a pytree of floats")
    for name, leaf in _named(params):
        dtype = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
        if not jnp.issubdtype(dtype, np.floating):
            raise InputError(f"{name} holds {dtype}; a gradient needs floating-point parameters")


def _require_finite(params: Any) -> None:
    """Raise InputError for parameters that are not finite."""
    for name, leaf in _named(params):
        for at in np.argwhere(~np.isfinite(leaf))[:1]:
            value, entry = np.asarray(leaf)[tuple(at)], f" at {tuple(at.tolist())}" * (at.size > 0)
            raise InputError(f"{name} = {value}{entry}: must be finite; choose other parameters")


def require_gradient_structure(
    loss: Callable, gradient: Callable, params: Any, args: tuple
) -> None:
    """Raise InputError unless the loss is a real scalar and the gradient is structured as params.

    The gradient must have the structure, the shapes and the dtypes of params.
    """
    out = tried("loss", jax.eval_shape, lambda p: loss(p, *args), params)
    if not hasattr(out, "shape"):
        raise InputError(f"the loss is {jax.tree.structure(out)}, expected one number")
    if out.shape != ():
        raise InputError(f"the loss has shape {out.shape}, expected one number of shape ()")
    if not jnp.issubdtype(out.dtype, np.floating):
        raise InputError(f"the loss is {out.dtype}, expected a real number in floating point")
    out = tried("gradient", jax.eval_shape, lambda p: gradient(p, *args), params)
    want, got = jax.tree.structure(params), jax.tree.structure(out)
    if str(want) != str(got):
        raise InputError(f"the gradient is {got}, expected the structure of params, {want}")
    for (name, p), g in zip(_named(params), jax.tree.leaves(out), strict=True):
        if np.shape(p) != g.shape:
            hint = ": transposed?" if np.shape(p) == g.shape[::-1] else ""
            raise InputError(
                f"the gradient of {name} has shape {g.shape}, {name} itself {np.shape(p)}{hint}"
            )
        dtype = jnp.result_type(p)
        if g.dtype != dtype:
            raise InputError(
                f"the gradient of {name} holds {g.dtype}, {name} itself {dtype}: does the gradient "
                "name a dtype?"
            )


def _around(params: Any, key: int) -> Iterator[tuple[str, Any]]:
    """Yield (name, parameters) of the points at which gradients are compared."""
    yield "as given", params
    for i, scale in enumerate(_SCALES):
        random = np.random.default_rng([key, i])
        move = lambda x, r=random, s=scale: x + s * r.standard_normal(np.shape(x))
        yield f"random, {scale:g}", jax.tree.map(move, params)


def _differences(
    value: Callable, points: Sequence[PointGradients], tolerance: float
) -> Iterator[Difference]:
    """Yield the entries of each leaf at each point that are worth a look.

    These are the entries that differ most, two random ones, and one whose finite difference is not
    the slope of autodiff, if there is one.

    The scale of a leaf is its largest entry, but at least SMALL times the largest gradient of all
    points and the loss there: a leaf that is zero is zero only up to rounding.
    """
    top = max(np.max(np.abs(x), initial=0) for p in points for x in jax.tree.leaves(p.autodiff))
    random = np.random.default_rng(0)
    for point in points:
        least = SMALL * max(top, abs(np.nan_to_num(float(value(point.params)), posinf=0, neginf=0)))
        pairs = zip(_named(point.autodiff), jax.tree.leaves(point.yours), strict=True)
        for place, ((name, right), yours) in enumerate(pairs):
            if not np.size(right):
                continue
            gap = np.abs(np.nan_to_num(yours, nan=np.inf) - right)
            scale = max(np.max(np.abs(right)), least) or 1.0
            wrong = int(np.sum(gap > tolerance * scale))
            first = np.argsort(-gap, axis=None, kind="stable")[: max(1, min(wrong, _EXAMINED))]
            odd = None if wrong else odd_entry(value, point.params, place, right)
            extras = [*random.integers(np.size(right), size=2), *([] if odd is None else [odd])]
            for flat in dict.fromkeys([*first, *extras]):
                index = tuple(int(i) for i in np.unravel_index(flat, np.shape(right)))
                y, a, absolute = (float(x[index]) for x in (yours, right, gap))
                slope, low, high = _finite_difference(value, point.params, place, index)
                slack = tolerance * scale + 1e-3 * (high - low)
                kink = high > low and low - slack <= min(y, a) and max(y, a) <= high + slack
                yield Difference(
                    name, index, point.name, y, a, slope, absolute, absolute / scale, kink
                )


def _finite_difference(
    value: Callable, params: Any, place: int, index: tuple[int, ...]
) -> tuple[float, float, float]:
    """Return (slope, lower, upper) of an entry; lower < upper are its one-sided slopes at a kink.

    With D(h) = (f(h) - f(-h)) / 2h the slope is (4 D(h/2) - D(h)) / 3. A kink is where the gap
    between the two one-sided slopes does not shrink with h. Elsewhere all three are equal.
    """
    leaves, tree = jax.tree.flatten(params)
    h = _STEP * max(1.0, abs(float(leaves[place][index])))

    def at(move: float) -> float:
        moved = np.array(leaves[place])
        moved[index] += move
        return float(
            value(jax.tree.unflatten(tree, [*leaves[:place], moved, *leaves[place + 1 :]]))
        )

    center, up, down, half_up, half_down = (at(s * h) for s in (0, 1, -1, 0.5, -0.5))
    slope = (8 * (half_up - half_down) - (up - down)) / (6 * h)
    bend, half_bend = (up - 2 * center + down) / h, 2 * (half_up - 2 * center + half_down) / h
    noise = 1e-8 * max(abs(center), abs(slope))
    if abs(half_bend) > max(0.75 * abs(bend), noise):
        sides = 2 * (half_up - center) / h, 2 * (center - half_down) / h
        return slope, min(sides), max(sides)
    return slope, slope, slope


def _lengths_of(arguments: Sequence[Any], names: Sequence[str]) -> list[AxisLength]:
    """List the lengths of all axes and the sizes of a Config, with names."""
    lengths: dict[int, str] = {}
    for argument, name in zip(arguments, [*names, *["an argument"] * len(arguments)], strict=False):
        if isinstance(argument, Config):
            for field_name, field in fields(type(argument)).items():
                size = getattr(argument, field_name)
                if field.kind == "size" and isinstance(size, Size):
                    lengths[int(size.n)] = field_name
            continue
        for path, leaf in jax.tree.leaves_with_path(argument):
            inner = jax.tree_util.keystr(path, simple=True, separator=".")
            for axis, n in enumerate(np.shape(leaf)):
                lengths.setdefault(n, f"axis {axis} of {name}{inner and '.'}{inner}")
    return [AxisLength(n, name) for n, name in lengths.items()]


def _conclude(
    points: Sequence[PointGradients],
    differences: Sequence[Difference],
    tolerance: float,
    rows: int,
    lengths: Sequence[AxisLength],
) -> Comparison:
    """Return the verdict from all points and the entries that were examined."""
    ordered = sorted(differences, key=lambda d: (not d.kink, d.relative), reverse=True)
    wrong = [d for d in ordered if d.relative > tolerance and not d.kink]
    kinks = {(d.leaf, d.place, d.point) for d in differences if d.kink}
    at_kinks = f"; {len(kinks)} entries at kinks of the loss" if kinks else ""
    if not wrong:
        oddity = _odd_derivative(differences)
        error = max((d.relative for d in differences if not d.kink), default=0.0)
        words = f"agrees with autodiff at {len(points)} points, to {error:.1e}{at_kinks}"
        return Comparison(not oddity, oddity or words, ordered[:rows])
    leaves = list(dict.fromkeys(d.leaf for d in wrong))
    reasons = {leaf: _reason(leaf, points, kinks, lengths) for leaf in leaves}
    agreeing = [name for name, _ in _named(points[0].params) if name not in leaves]
    worst = wrong[0]
    parts = []
    for why in dict.fromkeys(reasons.values()):
        where = " and ".join(leaf for leaf in leaves if reasons[leaf] == why)
        parts.append(f"{why or 'no single simple mistake explains it'}, in all of {where}")
    agreement = f"; right in {', '.join(agreeing)}" if agreeing else ""
    verdict = f"{worst.entry}: yours {worst.yours:.6g}, autodiff {worst.autodiff:.6g}: "
    return Comparison(False, verdict + "; ".join(parts) + agreement + at_kinks, ordered[:rows])


def _reason(
    leaf: str, points: Sequence[PointGradients], kinks: set[tuple], lengths: Sequence[AxisLength]
) -> str | None:
    """Return the mistake that explains a wrong leaf away from kinks, or None."""
    place = [name for name, _ in _named(points[0].params)].index(leaf)
    yours, right, value, constant = (
        np.stack([np.array(jax.tree.leaves(tree)[place], float) for tree in trees])
        for trees in zip(
            *((p.yours, p.autodiff, p.params, p.constant) for p in points), strict=True
        )
    )
    if not np.all(np.isfinite(yours)):
        return "it is not finite somewhere"
    for k, point in enumerate(points):
        for _, index, _ in (d for d in kinks if d[0] == leaf and d[2] == point.name):
            yours[(k, *index)] = np.nan
    return explain(yours, right, value, constant, lengths)


def _odd_derivative(differences: Sequence[Difference]) -> str | None:
    """Return a message if autodiff itself differs from finite differences away from kinks."""
    odd = [
        d
        for d in differences
        if not d.kink
        and d.absolute <= 1e-3 * abs(d.autodiff - d.finite_difference)
        and abs(d.autodiff - d.finite_difference) > 1e-3 * max(abs(d.autodiff), d.absolute, 1e-6)
    ]
    if len({d.point for d in odd}) < 2:
        return None
    d = odd[0]
    return (
        f"{d.entry}: autodiff {d.autodiff:.6g}, finite difference {d.finite_difference:.6g}: does "
        "the loss stop a gradient, round, or define a derivative of its own?"
    )
