"""The checks of a theory's contract, each a function that raises AssertionError where it fails.

`jaxtheory.testing` makes a list of them for a test suite.
"""

import functools
import inspect
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any
from unittest import mock

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.from_optax import from_optax
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.simulate import simulate
from jaxtheory.engine.sweep import sweep
from jaxtheory.ops.draws import run_key
from jaxtheory.verification import padding, theory_gradient
from jaxtheory.verification.finite_differences import slopes
from jaxtheory.verification.gradients import compare_gradients
from jaxtheory.verification.verify import assess, verify

STEPS = 6  # of the runs that are compared with vmapped ones
POINTS = 3  # draws of problem, batch and parameters per example
# names that xarray uses for something else
TAKEN = {
    name
    for method in ("sel", "isel", "interp", "reduce")
    for name in inspect.signature(getattr(xr.Dataset, method)).parameters
} | {name for name in dir(xr.Dataset) if not name.startswith("_")}


def trained(theory: Theory) -> list[str]:
    """List the algorithms to test, with a single one of those that `from_optax` has built.

    These differ in the optimizer alone. The one that is tested is "momentum", or else the first.
    Adam is avoided, as it may divide rounding errors by each other.
    """
    built = [n for n, a in theory.algorithms.items() if a.init.__module__ == from_optax.__module__]
    one = "momentum" if "momentum" in built else next(iter(built), None)
    return [name for name in theory.algorithms if name not in built or name == one]


class Material:
    """Problems, batches and random parameters of a theory's examples, each drawn once."""

    def __init__(self, theory: Theory):
        self.theory = theory
        self.drawn = functools.cache(self.draw)

    def config(self, i: int, dtype: Any = np.float64) -> Config:
        """Return an example whose traced fields are arrays."""
        return jax.tree.map(jnp.asarray, canonical(self.theory.examples[i], dtype))

    def draw_one(self, config: Config, key: jax.Array) -> tuple:
        """Draw (problem, batch, params), with the parameters of `init` plus 0.1 U(0, 1)."""
        return theory_gradient.draw_setting(self.theory, key, config)

    def draw(self, i: int) -> Any:
        """Draw POINTS times for an example, in float64, and return stacked NumPy arrays."""
        with numerics("float64"):
            draw_points = jax.jit(jax.vmap(lambda key: self.draw_one(self.config(i), key)))
            return jax.device_get(draw_points(jax.random.split(run_key(11, 0), POINTS)))

    def first(self, i: int, dtype: Any = np.float64) -> Any:
        """Return the first of the draws, with real entries in a dtype."""

        def cast(x: Any) -> Any:
            real = np.issubdtype(x.dtype, np.floating)
            return jnp.asarray(x[0], dtype if real else x.dtype)

        return jax.tree.map(cast, self.drawn(i))


def _expect(condition: Any, message: Any) -> None:
    """Raise AssertionError with a message unless a condition is true."""
    if not condition:
        raise AssertionError(str(message))


def distance(got: Any, want: Any) -> float:
    """Return the largest difference of two trees over the largest entry of the second.

    The result is NaN if either of them has a NaN.
    """
    pairs = list(zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True))
    largest = lambda xs: float(np.max([np.max(np.abs(x), initial=0) for x in xs], initial=0))
    top, gap = largest(w for _, w in pairs), largest(g - w for g, w in pairs)
    return gap / top if top else gap


def close(got: Any, want: Any, rtol: float = 1e-10) -> bool:
    """True if |got - want| <= rtol max(|want|, 1e-3) everywhere, where NaN equals NaN."""
    a, b = np.asarray(got, float), np.asarray(want, float)
    gap = np.abs(a - b) <= rtol * np.maximum(np.abs(b), 1e-3)
    return bool(np.all(gap | (np.isnan(a) & np.isnan(b))))


def conforms(theory: Theory) -> None:
    """Assert that the record has the slots of the contract, examples and checks."""
    check_theory(theory)
    _expect(theory.examples, f"{theory.name} has no examples")
    _expect(theory.checks, f"{theory.name} has no checks")


def check_holds(theory: Theory, name: str) -> None:
    """Assert that a check passes on random variations of every example.

    The tolerance of a check of kind "equal" must be at most 1e-11.
    """
    table = verify(theory, seeds=2, only=[name])
    _expect(table.passed, [row for row in table.checks if not row.passed])
    equal = [row.tolerance for row in table.checks if row.kind == "equal"]
    _expect(max(equal, default=0.0) <= 1e-11, f"{name}: tolerances {equal}, must be at most 1e-11")


def assumptions_have_margins(theory: Theory, i: int) -> None:
    """Assert that each condition of the source has a margin that is a number."""
    with numerics("float64") as dtype:
        rows = assess(theory, i, canonical(theory.examples[i], dtype))
    without = [row.name for row in rows if np.isnan(row.margin)]
    _expect(not without, f"assumptions without a margin: {without}")


def _closed_and_autodiff(theory: Theory, config: Config) -> Callable:
    """Return a function (problem, batch, params) -> (closed gradient, autodiff's)."""
    return lambda problem, batch, params: (
        theory.gradient(params, batch, problem, config),
        jax.grad(theory.loss)(params, batch, problem, config),
    )


def gradient_is_autodiff(tools: Material, i: int) -> None:
    """Assert that the closed gradient is autodiff's under jit of vmap, to 1e-11.

    Finite differences tell whether autodiff obeys a wrong rule of the loss's own.
    """
    theory, config = tools.theory, tools.config(i)

    def checked(problem: Any, batch: Any, params: Any) -> tuple[Any, Any, Any]:
        _, slope, gap = slopes(lambda p: theory.loss(p, batch, problem, config), params)
        return theory.gradient(params, batch, problem, config), slope, gap

    with numerics("float64"):
        got, want, gaps = jax.device_get(jax.jit(jax.vmap(checked))(*tools.drawn(i)))
        same = str(jax.tree.structure(got)) == str(jax.tree.structure(want))
        if not same or not distance(got, want) <= 1e-11 or np.any(gaps):
            problem, batch, params = tools.first(i)
            at = params, batch, problem, config
            comparison = compare_gradients(theory.loss, theory.gradient, *at)
            if comparison.agrees and same and distance(got, want) <= 1e-11:
                return  # the loss has kinks there
            raise AssertionError(
                f"the gradient is not autodiff's under jit of vmap; at one point: {comparison}"
            )


def gradient_in_float32(tools: Material, tolerance: float, i: int) -> None:
    """Assert that the closed gradient is autodiff's in float32, up to rounding."""
    tools.drawn(i)  # in float64, before the dtype changes
    with numerics("float32"):
        differentiate = jax.jit(_closed_and_autodiff(tools.theory, tools.config(i, np.float32)))
        got, want = jax.device_get(differentiate(*tools.first(i, np.float32)))
    types = {x.dtype for x in jax.tree.leaves(got)}
    _expect(types == {np.dtype(np.float32)}, f"the gradient has {types}, expected float32 alone")
    error = distance(got, want)
    _expect(
        error <= tolerance,
        f"the gradient in float32 differs from autodiff's by {error:.1e} of the largest entry",
    )


def loss_composes(tools: Material, i: int) -> None:
    """Assert that vmap of the loss equals a loop, and its jvp <gradient, direction>.

    vmap is over parameters and over all real fields.
    """
    theory, config = tools.theory, tools.config(i)
    with numerics("float64"):
        problem, batch, params = tools.first(i)
        loss = jax.jit(lambda params, config: theory.loss(params, batch, problem, config))
        scaled = jax.tree.map(lambda x: jnp.stack([x, 0.5 * x]), params)
        vmap_losses = jax.vmap(loss, in_axes=(0, None))(scaled, config)
        loop_losses = [loss(jax.tree.map(lambda x, k=k: x[k], scaled), config) for k in range(2)]
        _agree(vmap_losses, loop_losses, 1e-12, "vmap over parameters differs from a loop")

        table = fields(type(config))
        real = [n for n, f in table.items() if f.kind == "traced" and not f.integer]
        stacked = config.replace(**{n: np.stack([getattr(config, n)] * 2) for n in real})
        axes = jax.tree.map(lambda x: 0 if np.ndim(x) else None, stacked)
        fanned = jax.vmap(loss, in_axes=(None, axes))(params, stacked)
        _agree(fanned, [loop_losses[0]] * 2, 1e-12, "vmap over fields differs from a loop")

        direction = jax.tree.map(jnp.cos, params)
        _, slope = jax.jvp(lambda p: loss(p, config), (params,), (direction,))
        closed = jax.jit(lambda p: theory.gradient(p, batch, problem, config))(params)
        pairs = zip(jax.tree.leaves(closed), jax.tree.leaves(direction), strict=True)
        want = sum(jnp.vdot(g, d) for g, d in pairs)
        _agree(slope, want, 1e-9, "jvp differs from <gradient, direction>", least=1e-12)


def _agree(got: Any, want: Any, rtol: float, words: str, least: float = 0.0) -> None:
    """Assert |got - want| <= least + rtol |want|, entry by entry."""
    np.testing.assert_allclose(got, want, rtol=rtol, atol=least, err_msg=words)


def draws_are_the_same(theory: Theory, derived: Collection[str] | None, i: int) -> None:
    """Assert that padding changes nothing in the leading parts of problem and batch.

    These are bit-identical except in the `derived` arrays, and the rest is zero.
    """

    def draw(config: Config) -> dict:
        problem = theory.problem(run_key(5, 1), config)
        return {"problem": problem, "batch": theory.sample(run_key(5, 2), problem, config)}

    # optimized: without, some bits depend on the width of an array
    compiled = jax.jit(draw, compiler_options={"xla_backend_optimization_level": 2})
    with numerics("float64") as dtype:
        config = canonical(theory.examples[i], dtype)
        plain, padded = jax.device_get((compiled(config), compiled(padding.widened(config))))
    pairs = zip(jax.tree.leaves_with_path(padded), jax.tree.leaves(plain), strict=True)
    for (path, got), want in pairs:
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        inside = tuple(map(slice, np.shape(want)))
        _expect(close(got[inside], want), f"{name} depends on padding")
        if derived is not None and name.rpartition(".")[2] not in derived:
            same = np.array_equal(got[inside], want)
            _expect(same, f"{name} differs in its last bits under padding and is not in `derived`")
        margin = np.array(got)
        margin[inside] = 0
        _expect(not margin.any(), f"{name} is not zero beyond the sizes")


def padding_changes_nothing(theory: Theory, i: int) -> None:
    """Assert that no slot depends on the capacities of the sizes."""
    subset = theory._replace(algorithms={name: theory.algorithms[name] for name in trained(theory)})
    rows = [row for row in padding.compare_padded(subset, theory.examples[i]) if row.error > 1]
    _expect(not rows, rows)


def lowers_everywhere(theory: Theory, name: str, i: int) -> None:
    """Assert that a step and the metrics lower for CPU, CUDA and TPU, in float32."""
    algorithm = theory.algorithms[name]
    with numerics("float32"):
        config = canonical(theory.examples[i], np.float32)
        problem = jax.eval_shape(theory.problem, jax.random.key(0), config)
        state = jax.eval_shape(algorithm.init, jax.random.key(0), problem, config)

        def program(data: Any, state: Any, problem: Any, config: Config) -> list:
            key = jax.random.wrap_key_data(data)
            batch = (algorithm.sample or theory.sample)(key, problem, config)
            new = algorithm.step(key, jnp.int32(0), state, batch, problem, config)
            shown = algorithm.params(new, problem, config)
            return jax.tree.leaves((new, theory.metrics(shown, problem, config)))

        shape = lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype)
        leaves, tree = jax.tree.flatten(jax.tree.map(shape, (state, problem, config)))
        exported = jax.export.export(
            jax.jit(lambda data, *flat: program(data, *jax.tree.unflatten(tree, flat))),
            platforms=("cpu", "cuda", "tpu"),
        )(jax.ShapeDtypeStruct((2,), jnp.uint32), *leaves)
    _expect(set(exported.platforms) == {"cpu", "cuda", "tpu"}, exported.platforms)


def dimensions_match(tools: Material, i: int) -> None:
    """Assert that `dims` and `coords` fit the shapes of all results, and `predict` its metrics."""
    theory, config = tools.theory, tools.config(i)

    def everything(key: jax.Array) -> tuple:
        problem, _, params = tools.draw_one(config, key)
        results = theory.metrics(params, problem, config), theory.analyses(params, problem, config)
        curves = theory.predict(problem, config, np.arange(4))
        return *results, curves, theory.baselines(problem, config)

    with numerics("float64"):
        metrics, final, curves, fixed = jax.eval_shape(everything, jax.random.key(0))
    unknown = {name.partition(":")[0] for name in curves} - set(metrics)
    _expect(not unknown, f"predict names {unknown}, which are not metrics")
    short = {name for name, curve in curves.items() if curve.shape[:1] != (4,)}
    _expect(not short, f"predict: {short} must have a leading axis of the 4 requested steps")
    values = {**metrics, **final}
    _expect(set(fixed) <= set(values), f"baselines {set(fixed) - set(values)} are not metrics")
    for name, value in values.items():
        shape, dims = list(value.shape), theory.dims.get(name, ())
        if name in fixed:
            shape[-1] += fixed[name].shape[-1]
        _expect(len(dims) == len(shape), f"{name} has shape {shape}, its dims are {dims}")
        for dim, length in zip(dims, shape, strict=True):
            labels = theory.coords(config).get(dim, range(length))
            _expect(
                len(labels) == length, f"{name}: {dim} has length {length}, its labels are {labels}"
            )


def names_of(theory: Theory) -> set[str]:
    """Return every name that a theory gives to a dimension or a variable."""
    tools = Material(theory)

    def everything(key: jax.Array) -> tuple:
        config = tools.config(0)
        problem, _, params = tools.draw_one(config, key)
        return theory.metrics(params, problem, config), theory.analyses(params, problem, config)

    with numerics("float64"):
        outputs = jax.eval_shape(everything, jax.random.key(0))
    names = {name for group in outputs for name in group}
    return names | {dim for dims in theory.dims.values() for dim in dims}


def names_are_free(theory: Theory) -> None:
    """Assert that no dimension or variable has a name that xarray uses for something else.

    `data.sel(method="wanda")`, for instance, would set an option of `sel` and select nothing.
    """
    clashes = names_of(theory) & TAKEN
    _expect(not clashes, f"{clashes} are options or attributes of xarray; choose other names")


def keep_one_metric(theory: Theory) -> Theory:
    """Return the theory with one metric alone, which compiles in a fraction of the time."""

    def metrics(params: Any, problem: Any, config: Any) -> dict:
        values = theory.metrics(params, problem, config)
        name = "loss" if "loss" in values else next(iter(values))
        return {name: values[name]}

    return theory._replace(
        name=f"bare_{theory.name}",
        metrics=metrics,
        analyses=lambda params, problem, config: {},
        baselines=lambda problem, config: {},
        predict=lambda problem, config, steps: {},
        dims={},
        coords=lambda config: {},
    )


def _second_value(field: Any, value: Any) -> float | None:
    """Return another valid value of a real field near the first, or None."""
    if field.integer or value == 0 or value in (field.valid.low, field.valid.high):
        return None
    return next((c * value for c in (0.9, 1.1) if c * value in field.valid), None)


def vmapped_run_is_alone(theory: Theory, algorithm: str, i: int) -> None:
    """Assert that the runs of a padded sweep equal those of `simulate`.

    The sweep has two values of real fields, two seeds and two numbers of steps. It varies four
    fields and has all metrics for the first example and algorithm, else two fields and one metric.
    """
    config, is_first = theory.examples[i], i == 0 and algorithm == next(iter(theory.algorithms))
    if not is_first:
        theory = keep_one_metric(theory)
    table = {n: f for n, f in fields(type(config)).items() if f.kind in ("traced", "evaluation")}
    vary = {n: [v, w] for n, f in table.items() if (w := _second_value(f, v := getattr(config, n)))}
    axes = dict(list(vary.items())[-4 if is_first else -2 :])
    options: Any = {"record": 2, "algorithm": algorithm, "dtype": "float64"}
    data = sweep(
        theory,
        padding.widened(config),
        vary={**axes, "steps": [STEPS, 2]},
        seeds=[7, 9],
        key=2,
        steps=0,
        **options,
    )
    inside = lambda padded, plain: padded[tuple(slice(n) for n in np.shape(plain))]
    for choice, seed, steps in ((0, 7, 2), (0, 9, STEPS), (-1, 7, STEPS), (-1, 9, 2)):
        at = {n: v[choice] for n, v in axes.items()}
        run = simulate(theory, config.replace(**at), run_key(2, seed), steps=steps, **options)
        vmapped = data.sel(seed=seed, steps=steps).isel(dict.fromkeys(axes, choice))
        for n, value in run.metrics.items():
            got = inside(vmapped[n].sel(step=run.steps).values, value)
            _expect(close(got, value), f"{n}, seed {seed}: {got} in a sweep, {value} alone")
        for n, value in run.analyses.items():
            got = inside(vmapped[n].values, value)
            _expect(close(got, value), f"{n}, seed {seed}: {got} in a sweep, {value} alone")
        later = vmapped[next(iter(run.metrics))].sel(step=slice(steps + 1, None))
        _expect(np.isnan(later).all(), f"records after step {steps} are not NaN")


def notices(theory: Theory, module: ModuleType, name: str, wrong: Callable) -> None:
    """Assert that some check fails if a function of a module, and its slots, are replaced."""
    right = getattr(module, name)
    slots: dict[str, Any] = {s: wrong for s in Theory._fields if getattr(theory, s) is right}
    anew = {n: Algorithm(*a) for n, a in theory.algorithms.items()}  # they call the wrong one
    changed = Theory(**theory._asdict() | slots | {"algorithms": anew})
    with mock.patch.object(module, name, wrong):
        passed = verify(changed, seeds=2).passed
    _expect(not passed, f"no check notices this {name}")
