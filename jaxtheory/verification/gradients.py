"""A gradient that somebody has derived, beside autodiff and finite differences."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, Size, canonical, fields
from jaxtheory.core.errors import InputError, tried
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.system.backend import computes
from jaxtheory.verification import normalizers
from jaxtheory.verification.gradient_diagnosis import Length, explain

_SCALES = (0.1, 1.0, 10.0)  # of the random points beside the one given
_STEP = 1e-4  # of the finite differences, over max(1, |x|)
SMALL = 1e-6  # of the largest gradient of all, or of the loss: the least scale of a leaf
_EXAMINED = 40  # entries of a point, those that differ most first


class Difference(NamedTuple):
    """One entry at one point. absolute = |yours - autodiff|; relative: over the largest entry of
    the leaf there; kink: the slopes to the left and right differ, and autodiff is one choice.
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
        """Where it is, in words."""
        return f"entry {self.place} of {self.leaf}" if self.place else self.leaf


class Comparison(NamedTuple):
    """What `compare_gradients` found: one line, and the largest disagreements, the worst first."""

    agrees: bool
    verdict: str
    differences: list[Difference]

    @property
    def largest(self) -> float:
        """The largest relative difference away from kinks; 0 where all is at kinks."""
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


class Point(NamedTuple):
    """Parameters with the two gradients there, as trees of NumPy arrays; `held` is autodiff with
    the normalizers of softmaxes held constant, where it was asked for.
    """

    name: str
    params: Any
    yours: Any
    autodiff: Any
    held: Any = None


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
    """gradient(params, *args) beside the derivative of loss(params, *args) in params, in float64.

    At `params`, and at random points params + s N(0, 1), s = .1, 1, 10 (drawn from the number
    `key`), each entry of each leaf is compared with autodiff; those that differ most, and some
    others, with central finite differences (Richardson). A leaf agrees where |yours - autodiff| is
    at most `tolerance` of its largest entry (or of 1e-6 of the largest gradient of all, or of the
    loss, where these are more). Where the loss has a kink, any slope between those to
    the left and right is right. The verdict names the entry that differs most and, where one
    mistake explains all (a factor, the sign, 1/n, a transposition, a shifted index, a missing
    multiple of the parameter, ..), that mistake.

    params: a pytree of floats; args: anything that the two functions take. Raises InputError where
    a function cannot be called with them, where the gradient has another structure, other shapes or
    another dtype than params, for integers or NaN in params, and for a loss that is no finite
    number at params.
    """
    _require_options(key, tolerance, rows)
    _require_functions(loss=loss, gradient=gradient)
    with numerics("float64"):
        params, args = _in_float64(params), tuple(_in_float64(x) for x in args)
        require_real(params)
        _require_finite(params)
        require_gradient(loss, gradient, params, args)
        mine = _quickly(lambda p: gradient(p, *args))
        autodiff = _quickly(jax.grad(lambda p: loss(p, *args)))
        value = _quickly(lambda p: loss(p, *args))
        if not np.isfinite(float(value(params))):
            raise InputError(f"loss = {float(value(params))} at params; choose others")
        points = []
        for name, p in _around(params, key):
            yours, right = jax.device_get((mine(p), autodiff(p)))
            if all(np.all(np.isfinite(x)) for x in jax.tree.leaves(right)):
                points.append(Point(name, jax.device_get(p), yours, right))
        if not points:
            raise InputError("autodiff of the loss is not finite at params; choose others")
        found = list(_differences(value, points, tolerance))
        if any(d.relative > tolerance and not d.kink for d in found):
            constant = _quickly(jax.grad(normalizers.held(lambda p: loss(p, *args))))
            points = [p._replace(held=jax.device_get(constant(p.params))) for p in points]
    names = _signature(loss)
    return _conclude(points, found, tolerance, rows, _lengths_of([params, *args], names))


def _quickly(function: Callable) -> Callable:
    """The function, compiled for a few calls."""
    return jax.jit(function, compiler_options=compiler_options(level=0))


def _in_float64(tree: Any) -> Any:
    """Numbers and floating arrays in float64; a Config with canonical leaves; the rest as it is."""

    def cast(x: Any) -> Any:
        if isinstance(x, Config):
            return canonical(x, np.float64)
        floats = isinstance(x, float) or jnp.issubdtype(getattr(x, "dtype", np.int32), np.floating)
        return jnp.asarray(x, np.float64) if floats else x

    return jax.tree.map(cast, tree, is_leaf=lambda x: isinstance(x, Config))


def _named(tree: Any) -> list[tuple[str, Any]]:
    """(name, leaf) of a pytree; the name of a lone array is "params"."""
    return [
        (jax.tree_util.keystr(path, simple=True, separator=".") or "params", leaf)
        for path, leaf in jax.tree.leaves_with_path(tree)
    ]


def _signature(function: Callable) -> list[str]:
    """The names of a function's arguments; none where Python does not know them."""
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def _require_functions(**given: Any) -> None:
    """Raise InputError for what is no function."""
    for what, function in given.items():
        if not callable(function):
            raise InputError(
                f"{what} is a {type(function).__name__}, expected a function of (params, *args)"
            )


def _require_options(key: Any, tolerance: Any, rows: Any) -> None:
    """Raise InputError for options of `compare_gradients` out of their range."""
    for what, value in (("key", key), ("rows", rows)):
        if not isinstance(value, int | np.integer) or value < 0:
            raise InputError(f"{what} = {value!r}: must be an integer in [0, inf)")
    if not isinstance(tolerance, int | float | np.number) or not 0 <= tolerance < np.inf:
        raise InputError(f"tolerance = {tolerance!r}: must be a number in [0, inf)")


def require_real(params: Any) -> None:
    """Raise InputError for parameters that are not real numbers in floating point."""
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
            raise InputError(f"{name} = {value}{entry}: choose finite parameters")


def require_gradient(loss: Callable, gradient: Callable, params: Any, args: tuple) -> None:
    """Raise InputError unless the loss is a real scalar and the gradient has the structure, shapes
    and dtypes of params.
    """
    out = tried("loss", jax.eval_shape, lambda p: loss(p, *args), params)
    if not hasattr(out, "shape"):
        raise InputError(f"the loss is {jax.tree.structure(out)}, expected one number")
    if out.shape != ():
        raise InputError(f"the loss has shape {out.shape}, expected one number ()")
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
    """(name, parameters) of the points at which gradients are compared."""
    yield "as given", params
    for i, scale in enumerate(_SCALES):
        random = np.random.default_rng([key, i])
        move = lambda x, r=random, s=scale: x + s * r.standard_normal(np.shape(x))
        yield f"random, {scale:g}", jax.tree.map(move, params)


def _differences(
    value: Callable, points: Sequence[Point], tolerance: float
) -> Iterator[Difference]:
    """The entries that differ most at each point in each leaf, and two by chance, with finite
    differences. The scale of a leaf is its largest entry, but at least SMALL of the largest
    gradient of all points and of the loss there: a leaf that is zero is zero up to rounding.
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
            for flat in dict.fromkeys([*first, *random.integers(np.size(right), size=2)]):
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
    """(slope of an entry, and the slopes to its two sides, the lower first, where they differ).

    With D(h) = (f(h) - f(-h)) / 2h the slope is (4 D(h/2) - D(h)) / 3. The slopes to the sides
    differ where their gap does not fall with h.
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


def _lengths_of(arguments: Sequence[Any], names: Sequence[str]) -> list[Length]:
    """The axes of all arrays, and the sizes of a Config, with names."""
    found: dict[int, str] = {}
    for argument, name in zip(arguments, [*names, *["an argument"] * len(arguments)], strict=False):
        if isinstance(argument, Config):
            for word, field in fields(type(argument)).items():
                size = getattr(argument, word)
                if field.kind == "size" and isinstance(size, Size):
                    found[int(size.n)] = word
            continue
        for path, leaf in jax.tree.leaves_with_path(argument):
            inner = jax.tree_util.keystr(path, simple=True, separator=".")
            for axis, n in enumerate(np.shape(leaf)):
                found.setdefault(n, f"axis {axis} of {name}{inner and '.'}{inner}")
    return [Length(n, name) for n, name in found.items()]


def _conclude(
    points: Sequence[Point],
    found: Sequence[Difference],
    tolerance: float,
    rows: int,
    lengths: Sequence[Length],
) -> Comparison:
    """The verdict from all points and the entries that were examined."""
    ordered = sorted(found, key=lambda d: (not d.kink, d.relative), reverse=True)
    wrong = [d for d in ordered if d.relative > tolerance and not d.kink]
    kinks = {(d.leaf, d.place, d.point) for d in found if d.kink}
    at_kinks = f"; {len(kinks)} entries at kinks of the loss" if kinks else ""
    if not wrong:
        other = _odd_derivative(found)
        closest = max((d.relative for d in found if not d.kink), default=0.0)
        words = f"agrees with autodiff at {len(points)} points, to {closest:.1e}{at_kinks}"
        return Comparison(not other, other or words, ordered[:rows])
    leaves = list(dict.fromkeys(d.leaf for d in wrong))
    reasons = {leaf: _reason(leaf, points, kinks, lengths) for leaf in leaves}
    agreeing = [name for name, _ in _named(points[0].params) if name not in leaves]
    worst = wrong[0]
    parts = []
    for why in dict.fromkeys(reasons.values()):
        where = " and ".join(leaf for leaf in leaves if reasons[leaf] == why)
        parts.append(f"{why or 'no one simple mistake explains it'}, in all of {where}")
    rest = f"; right in {', '.join(agreeing)}" if agreeing else ""
    verdict = f"{worst.entry}: yours {worst.yours:.6g}, autodiff {worst.autodiff:.6g}: "
    return Comparison(False, verdict + "; ".join(parts) + rest + at_kinks, ordered[:rows])


def _reason(
    leaf: str, points: Sequence[Point], kinks: set[tuple], lengths: Sequence[Length]
) -> str | None:
    """What explains a wrong leaf; kinks are left out."""
    place = [name for name, _ in _named(points[0].params)].index(leaf)
    yours, right, value, held = (
        np.stack([np.array(jax.tree.leaves(tree)[place], float) for tree in trees])
        for trees in zip(*((p.yours, p.autodiff, p.params, p.held) for p in points), strict=True)
    )
    if not np.all(np.isfinite(yours)):
        return "it is not finite somewhere"
    for k, point in enumerate(points):
        for _, index, _ in (d for d in kinks if d[0] == leaf and d[2] == point.name):
            yours[(k, *index)] = np.nan
    return explain(yours, right, value, held, lengths)


def _odd_derivative(found: Sequence[Difference]) -> str | None:
    """A line if autodiff itself is not what finite differences say, away from kinks."""
    odd = [
        d
        for d in found
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
