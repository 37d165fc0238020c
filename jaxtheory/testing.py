"""The contract of a theory as tests, for the test suites of others and our own.

    from jaxtheory.testing import parametrize_with_checks

    @parametrize_with_checks(THEORY)
    def test_theory(check):
        check()

Each check is a pytest parameter with a name: the record conforms; its own checks hold; its
functions compose with jit, vmap, grad and jvp, in float64 and float32; nothing depends on padding;
a lane of a sweep is the run alone; programs lower for CPU, CUDA and TPU; dimensions and names are
valid; and each of `mutations`, wrong versions of one's own, is caught. Needs pytest.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.draws import run_key
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory, conform
from jaxtheory.engine import autodiff, padding
from jaxtheory.engine.gradients import compare_gradients
from jaxtheory.engine.request import numerics
from jaxtheory.engine.simulate import simulate
from jaxtheory.engine.sweep import sweep
from jaxtheory.engine.verify import verify

STEPS = 6  # of the runs that are compared with lanes
POINTS = 3  # draws of problem, batch and parameters per example


class Case(NamedTuple):
    """A test without arguments; it raises AssertionError or InputError."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()


def assert_gradient(
    loss: Callable, gradient: Callable, params: Any, *args: Any, **options: Any
) -> None:
    """Raise AssertionError with the table of `jaxtheory.compare_gradients` where a gradient is not
    that of the loss.
    """
    found = compare_gradients(loss, gradient, params, *args, **options)
    if not found.agrees:
        raise AssertionError(str(found))


def parametrize_with_checks(theory: Theory, **options: Any) -> Any:
    """A pytest decorator: `check`, the test's argument, is each of `cases(theory, **options)`.
    Raises InputError for what is no Theory, and for mutations that are not as `cases` takes them.
    """
    import pytest

    conform(theory)
    found = list(cases(theory, **options))
    return pytest.mark.parametrize("check", found, ids=[case.name for case in found])


def cases(
    theory: Theory,
    *,
    mutations: Mapping[str, tuple[ModuleType, str, Callable]] | None = None,
    float32: float = 2e-5,
) -> Iterator[Case]:
    """The checks of a theory, in the order in which they help.

    mutations: what is wrong -> (module, name of its function, the wrong one), each of which some
    check must notice. float32: the largest difference of the gradient in float32 from autodiff's,
    over the largest entry.
    """
    yield Case("conforms", functools.partial(conforms, theory))
    yield Case("names are not xarray's", functools.partial(names_are_free, theory))
    require_mutations(mutations or {})
    for check in theory.checks:
        yield Case(f"check {check.name}", functools.partial(check_holds, theory, check.name))
    tools = Material(theory)
    for i, _ in enumerate(theory.examples):
        for words, test in (
            ("gradient is autodiff's", gradient_is_autodiff),
            ("loss composes", loss_composes),
            ("dimensions match", dimensions_match),
        ):
            yield Case(f"{words}, example {i}", functools.partial(test, tools, i))
        yield Case(
            f"gradient in float32, example {i}",
            functools.partial(gradient_in_float32, tools, i, float32),
        )
        yield Case(f"padding, example {i}", functools.partial(padding_changes_nothing, theory, i))
        for algorithm in list(theory.algorithms)[: None if i == 0 else 1]:
            where = f"{algorithm}, example {i}"
            lowers = functools.partial(lowers_everywhere, theory, i, algorithm)
            yield Case(f"lowers for every backend, {where}", lowers)
            alone = functools.partial(lane_is_alone, theory, i, algorithm)
            yield Case(f"a lane is the run alone, {where}", alone)
    for what, mutation in (mutations or {}).items():
        yield Case(f"notices {what}", functools.partial(notices, theory, *mutation))


def require_mutations(mutations: Mapping[str, Any]) -> None:
    """Raise InputError where a mutation is not (module, name of its function, function)."""
    if not isinstance(mutations, Mapping):
        raise InputError(f"mutations is a {type(mutations).__name__}, expected a dict")
    for what, parts in mutations.items():
        if not (isinstance(parts, tuple) and len(parts) == 3 and callable(parts[2])):
            raise InputError(f"mutations[{what!r}]: expected (module, name, wrong function)")
        module, name, _ = parts
        if not isinstance(name, str) or not callable(getattr(module, name, None)):
            raise InputError(f"mutations[{what!r}]: {module!r} has no function {name!r}")


class Material:
    """Problems, batches and parameters away from special points, drawn once per example."""

    def __init__(self, theory: Theory):
        self.theory = theory
        self.drawn = functools.cache(self.draw)

    def config(self, i: int, dtype: Any = np.float64) -> Config:
        """An example whose traced fields are arrays."""
        return jax.tree.map(jnp.asarray, canonical(self.theory.examples[i], dtype))

    def one(self, config: Config, key: jax.Array) -> tuple:
        """(problem, batch, params), the parameters of `init` plus .1 U(0, 1)."""
        return autodiff.setting(self.theory, key, config)

    def draw(self, i: int) -> Any:
        """POINTS times the material of an example, in float64, as NumPy arrays."""
        with numerics("float64"):
            several = jax.jit(jax.vmap(lambda key: self.one(self.config(i), key)))
            return jax.device_get(several(jax.random.split(run_key(11, 0), POINTS)))

    def first(self, i: int, dtype: Any = np.float64) -> Any:
        """The first of them, real entries in a dtype."""

        def cast(x: Any) -> Any:
            real = np.issubdtype(x.dtype, np.floating)
            return jnp.asarray(x[0], dtype if real else x.dtype)

        return jax.tree.map(cast, self.drawn(i))


def require(true: Any, words: Any) -> None:
    """Raise AssertionError with some words."""
    if not true:
        raise AssertionError(str(words))


def distance(got: Any, want: Any) -> float:
    """The largest difference of two trees over the largest entry of the second."""
    pairs = list(zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True))
    largest = lambda xs: float(np.max([np.max(np.abs(x), initial=0) for x in xs], initial=0))
    top, gap = largest(w for _, w in pairs), largest(g - w for g, w in pairs)
    return gap / top if top else gap


def close(got: Any, want: Any, rtol: float = 1e-10) -> bool:
    """|got - want| <= 1e-10 max(|want|, 1e-3), NaN equal to NaN."""
    a, b = np.asarray(got, float), np.asarray(want, float)
    gap = np.abs(a - b) <= rtol * np.maximum(np.abs(b), 1e-3)
    return bool(np.all(gap | (np.isnan(a) & np.isnan(b))))


def conforms(theory: Theory) -> None:
    """The record has the contract's slots, examples and checks."""
    conform(theory)
    require(theory.examples, f"{theory.name} has no examples")
    require(theory.checks, f"{theory.name} has no checks")


def check_holds(theory: Theory, name: str) -> None:
    """A check passes on every example with random values of the traced fields."""
    table = verify(theory, seeds=2, only=[name])
    require(table.passed, [row for row in table.checks if not row.passed])


def gradient_is_autodiff(tools: Material, i: int) -> None:
    """The closed gradient is autodiff's under jit of vmap, to 1e-11, with the same structure."""
    theory, config = tools.theory, tools.config(i)

    def both(problem: Any, batch: Any, params: Any) -> tuple:
        closed = theory.gradient(params, batch, problem, config)
        return closed, jax.grad(theory.loss)(params, batch, problem, config)

    with numerics("float64"):
        got, want = jax.device_get(jax.jit(jax.vmap(both))(*tools.drawn(i)))
        if not distance(got, want) <= 1e-11:
            problem, batch, params = tools.first(i)
            rest = (batch, problem, config)
            raise AssertionError(
                str(compare_gradients(theory.loss, theory.gradient, params, *rest))
            )


def gradient_in_float32(tools: Material, i: int, tolerance: float) -> None:
    """The same in float32, up to rounding."""
    theory, material = tools.theory, tools.drawn(i)
    del material  # drawn in float64 before the dtype changes
    with numerics("float32"):
        config, (problem, batch, params) = tools.config(i, np.float32), tools.first(i, np.float32)
        rest = (batch, problem, config)
        got = jax.jit(lambda p: theory.gradient(p, *rest))(params)
        want = jax.jit(jax.grad(lambda p: theory.loss(p, *rest)))(params)
        types = {x.dtype for x in jax.tree.leaves(got)}
        require(types == {jnp.dtype(np.float32)}, f"the gradient has {types}")
        error = distance(*jax.device_get((got, want)))
    require(error <= tolerance, f"float32 differs by {error:.1e} of the largest entry")


def loss_composes(tools: Material, i: int) -> None:
    """vmap over parameters, and over every real field, equals a loop; jvp equals <gradient, d>."""
    theory, config = tools.theory, tools.config(i)
    with numerics("float64"):
        problem, batch, params = tools.first(i)
        loss = jax.jit(lambda params, config: theory.loss(params, batch, problem, config))
        scaled = jax.tree.map(lambda x: jnp.stack([x, 0.5 * x]), params)
        several = jax.vmap(loss, in_axes=(0, None))(scaled, config)
        alone = [loss(jax.tree.map(lambda x, k=k: x[k], scaled), config) for k in range(2)]
        require(close(several, alone, 1e-12), "vmap over parameters is no loop over them")

        table = fields(type(config))
        real = [n for n, f in table.items() if f.kind == "traced" and not f.integer]
        stacked = config.replace(**{n: np.stack([getattr(config, n)] * 2) for n in real})
        axes = jax.tree.map(lambda x: 0 if np.ndim(x) else None, stacked)
        fanned = jax.vmap(loss, in_axes=(None, axes))(params, stacked)
        require(close(fanned, [loss(params, config)] * 2, 1e-12), "vmap over fields is no loop")

        direction = jax.tree.map(jnp.cos, params)
        _, slope = jax.jvp(lambda p: loss(p, config), (params,), (direction,))
        closed = jax.jit(lambda p: theory.gradient(p, batch, problem, config))(params)
        pairs = zip(jax.tree.leaves(closed), jax.tree.leaves(direction), strict=True)
        want = sum(jnp.vdot(g, d) for g, d in pairs)
        require(close(slope, want, 1e-8), f"jvp {slope}, <gradient, direction> {want}")


def padding_changes_nothing(theory: Theory, i: int) -> None:
    """No slot depends on the capacities of the sizes."""
    found = [row for row in padding.compare(theory, theory.examples[i]) if row.error > 1]
    require(not found, found)


def lowers_everywhere(theory: Theory, i: int, name: str) -> None:
    """A step and the metrics lower for CPU, CUDA and TPU, in float32."""
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
    require(set(exported.platforms) == {"cpu", "cuda", "tpu"}, exported.platforms)


def dimensions_match(tools: Material, i: int) -> None:
    """`predict` names metrics; `dims` and `coords` fit the shapes of metrics, analyses and
    baselines.
    """
    theory, config = tools.theory, tools.config(i)

    def everything(key: jax.Array) -> tuple:
        problem, _, params = tools.one(config, key)
        looked = theory.metrics(params, problem, config), theory.analyses(params, problem, config)
        curves = theory.predict(problem, config, np.arange(4))
        return *looked, curves, theory.baselines(problem, config)

    with numerics("float64"):
        seen, final, curves, fixed = jax.eval_shape(everything, jax.random.key(0))
    unknown = {name.partition(":")[0] for name in curves} - set(seen)
    require(not unknown, f"predict names {unknown}, which are no metrics")
    short = {name for name, curve in curves.items() if curve.shape[:1] != (4,)}
    require(not short, f"predict: {short} have no leading axis of the 4 steps asked for")
    values = {**seen, **final}
    require(set(fixed) <= set(values), f"baselines {set(fixed) - set(values)} are no metrics")
    for name, value in values.items():
        shape, dims = list(value.shape), theory.dims.get(name, ())
        if name in fixed:
            shape[-1] += fixed[name].shape[-1]
        require(len(dims) == len(shape), f"{name} has shape {shape}, its dims are {dims}")
        for dim, length in zip(dims, shape, strict=True):
            labels = theory.coords(config).get(dim, range(length))
            require(len(labels) == length, f"{name}: {dim} is {length} long, its labels {labels}")


TAKEN = {
    name
    for method in ("sel", "isel", "interp", "reduce")
    for name in inspect.signature(getattr(xr.Dataset, method)).parameters
} | {name for name in dir(xr.Dataset) if not name.startswith("_")}


def words_of(theory: Theory) -> set[str]:
    """Every name that a theory gives to a dimension or a variable."""
    tools = Material(theory)

    def everything(key: jax.Array) -> tuple:
        config = tools.config(0)
        problem, _, params = tools.one(config, key)
        return theory.metrics(params, problem, config), theory.analyses(params, problem, config)

    with numerics("float64"):
        outputs = jax.eval_shape(everything, jax.random.key(0))
    names = {name for group in outputs for name in group}
    return names | {dim for dims in theory.dims.values() for dim in dims}


def names_are_free(theory: Theory) -> None:
    """No name of a dimension or variable is one that xarray takes for itself: `data.sel(method=
    "wanda")` would be an option of sel and select nothing.
    """
    taken = words_of(theory) & TAKEN
    require(not taken, f"{taken} are names of xarray's own")


def bare(theory: Theory) -> Theory:
    """The theory with the first metric alone, which compiles in a fraction of the time."""

    def metrics(params: Any, problem: Any, config: Any) -> dict:
        seen = theory.metrics(params, problem, config)
        name = "loss" if "loss" in seen else next(iter(seen))
        return {name: seen[name]}

    return theory._replace(
        name=f"bare_{theory.name}",
        metrics=metrics,
        analyses=lambda params, problem, config: {},
        baselines=lambda problem, config: {},
        predict=lambda problem, config, steps: {},
    )


def second_value(field: Any, value: Any) -> float | None:
    """Another valid value of a real field near the first, or None."""
    if field.integer or value == 0 or value in (field.valid.low, field.valid.high):
        return None
    return next((c * value for c in (0.9, 1.1) if c * value in field.valid), None)


def lane_is_alone(theory: Theory, i: int, algorithm: str) -> None:
    """All sizes padded, up to four real fields of two values, seeds, two numbers of steps: lanes of
    a sweep against `simulate`. All metrics for the first two examples and the default algorithm.
    """
    config = theory.examples[i]
    if i > 1 or algorithm != next(iter(theory.algorithms)):
        theory = bare(theory)
    table = {n: f for n, f in fields(type(config)).items() if f.kind in ("traced", "evaluation")}
    vary = {n: [v, w] for n, f in table.items() if (w := second_value(f, v := getattr(config, n)))}
    axes = dict(list(vary.items())[-4:])
    options: Any = {"record": 2, "algorithm": algorithm, "dtype": "float64"}
    data = sweep(
        theory,
        padding.widened(config),
        vary={**axes, "steps": [STEPS, 2]},
        seeds=[4, 7, 9],
        key=2,
        steps=0,
        **options,
    )
    inside = lambda padded, plain: padded[tuple(slice(n) for n in np.shape(plain))]
    for choice in (0, -1):
        at = {n: v[choice] for n, v in axes.items()}
        for seed, steps in ((7, STEPS), (9, 2)):
            key = run_key(2, seed)
            run = simulate(theory, config.replace(**at), key, steps=steps, **options)
            lane = data.sel(seed=seed, steps=steps).isel(dict.fromkeys(axes, choice))
            for n, value in run.metrics.items():
                found = inside(lane[n].sel(step=run.steps).values, value)
                require(close(found, value), f"{n}, seed {seed}: {found} in a sweep, {value} alone")
            for n, value in run.analyses.items():
                found = inside(lane[n].values, value)
                require(close(found, value), f"{n}, seed {seed}: {found} in a sweep, {value} alone")
            later = lane[next(iter(run.metrics))].sel(step=slice(steps + 1, None))
            require(np.isnan(later).all(), f"records after step {steps} are not NaN")


def notices(theory: Theory, module: ModuleType, name: str, wrong: Callable) -> None:
    """Some check fails while a function of a module, and the slots that hold it, are replaced."""
    right = getattr(module, name)
    slots: dict[str, Any] = {s: wrong for s in Theory._fields if getattr(theory, s) is right}
    changed = theory._replace(**slots)
    with mock.patch.object(module, name, wrong):
        passed = verify(changed, seeds=2).passed
    require(not passed, f"no check notices this {name}")
