"""The contract of a theory as tests, for the test suites of others and our own.

    from jaxtheory.testing import parametrize_with_checks

    @parametrize_with_checks(THEORY)
    def test_theory(check):
        check()

Each check is a pytest parameter with a name: the record conforms; its own checks hold; its
functions compose with jit, vmap, grad and jvp, in float64 and float32; draws are bit for bit the
same under padding, and nothing depends on it; a lane of a sweep is the run alone; programs lower
for CPU, CUDA and TPU; dimensions and names are valid; and each of `mutations`, wrong versions of
one's own, is caught. Needs pytest.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.contract import check_theory, ships
from jaxtheory.core.errors import InputError
from jaxtheory.core.from_optax import from_optax
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.simulate import simulate
from jaxtheory.engine.sweep import sweep
from jaxtheory.ops.draws import run_key
from jaxtheory.verification import padding, theory_gradient
from jaxtheory.verification.gradients import compare_gradients
from jaxtheory.verification.verify import assess, verify

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

    check_theory(theory)
    found = list(cases(theory, **options))
    return pytest.mark.parametrize("check", found, ids=[case.name for case in found])


def cases(
    theory: Theory,
    *,
    mutations: Mapping[str, tuple[ModuleType, str, Callable]] | None = None,
    float32: float = 2e-5,
    derived: Collection[str] | None = None,
) -> Iterator[Case]:
    """The checks of a theory, in the order in which they help.

    mutations: what is wrong -> (module, name of its function, the wrong one), each of which some
    check must notice. float32: the largest difference of the gradient in float32 from autodiff's,
    over the largest entry. derived: the arrays of Problem and Batch that are computed from draws,
    so that padding may change their last bits; all others must be bit for bit the same (None: any
    may be computed).
    """
    require_mutations(mutations or {})
    part = functools.partial
    yield Case("conforms", part(conforms, theory))
    yield Case("names are not xarray's", part(names_are_free, theory))
    for check in theory.checks:
        yield Case(f"check {check.name}", part(check_holds, theory, check.name))
    tools = Material(theory)
    for i, _ in enumerate(theory.examples):
        tests = {
            "gradient is autodiff's": part(gradient_is_autodiff, tools),
            "loss composes": part(loss_composes, tools),
            "dimensions match": part(dimensions_match, tools),
            "assumptions have margins": part(assumptions_have_margins, theory),
            "gradient in float32": part(gradient_in_float32, tools, float32),
            "draws under padding": part(draws_are_the_same, theory, derived),
        }
        if i == 0 or not ships(theory):  # in the rooms lanes see the other examples padded
            tests["padding"] = part(padding_changes_nothing, theory)
        for words, test in tests.items():
            yield Case(f"{words}, example {i}", part(test, i))
        for name in trained(theory)[: None if i == 0 else 1]:
            for words, test in {
                "lowers for every backend": part(lowers_everywhere, theory, name),
                "a lane is the run alone": part(lane_is_alone, theory, name),
            }.items():
                yield Case(f"{words}, {name}, example {i}", part(test, i))
    for what, mutation in (mutations or {}).items():
        yield Case(f"notices {what}", part(notices, theory, *mutation))


def trained(theory: Theory) -> list[str]:
    """The algorithms to test: of those that `from_optax` has built, which differ in the optimizer
    alone, "momentum" or else the first. Not Adam, which may divide rounding by rounding.
    """
    built = [n for n, a in theory.algorithms.items() if a.init.__module__ == from_optax.__module__]
    one = "momentum" if "momentum" in built else next(iter(built), None)
    return [name for name in theory.algorithms if name not in built or name == one]


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
        return theory_gradient.draw_setting(self.theory, key, config)

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
    """The largest difference of two trees over the largest entry of the second; NaN where either
    has one.
    """
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
    check_theory(theory)
    require(theory.examples, f"{theory.name} has no examples")
    require(theory.checks, f"{theory.name} has no checks")


def check_holds(theory: Theory, name: str) -> None:
    """A check passes on every example with random values of its real fields; equal is to 1e-11."""
    table = verify(theory, seeds=2, only=[name])
    require(table.passed, [row for row in table.checks if not row.passed])
    equal = [row.tolerance for row in table.checks if row.kind == "equal"]
    require(max(equal, default=0.0) <= 1e-11, f"{name}: equal to {equal} only")


def assumptions_have_margins(theory: Theory, i: int) -> None:
    """Each condition of the source holds or does not, by a number."""
    with numerics("float64") as dtype:
        rows = assess(theory, i, canonical(theory.examples[i], dtype))
    without = [row.name for row in rows if np.isnan(row.margin)]
    require(not without, f"assumptions without a margin: {without}")


def closed_and_autodiff(theory: Theory, config: Config) -> Callable:
    """material -> (closed gradient, autodiff's)."""
    return lambda problem, batch, params: (
        theory.gradient(params, batch, problem, config),
        jax.grad(theory.loss)(params, batch, problem, config),
    )


def gradient_is_autodiff(tools: Material, i: int) -> None:
    """The closed gradient is autodiff's under jit of vmap, to 1e-11, with the same structure."""
    theory, config = tools.theory, tools.config(i)
    with numerics("float64"):
        both = jax.jit(jax.vmap(closed_and_autodiff(theory, config)))
        got, want = jax.device_get(both(*tools.drawn(i)))
        same = str(jax.tree.structure(got)) == str(jax.tree.structure(want))
        if not same or not distance(got, want) <= 1e-11:
            problem, batch, params = tools.first(i)
            found = compare_gradients(theory.loss, theory.gradient, params, batch, problem, config)
            raise AssertionError(f"under jit of vmap they differ; alone: {found}")


def gradient_in_float32(tools: Material, tolerance: float, i: int) -> None:
    """The same in float32, up to rounding."""
    tools.drawn(i)  # in float64, before the dtype changes
    with numerics("float32"):
        both = jax.jit(closed_and_autodiff(tools.theory, tools.config(i, np.float32)))
        got, want = jax.device_get(both(*tools.first(i, np.float32)))
    types = {x.dtype for x in jax.tree.leaves(got)}
    require(types == {np.dtype(np.float32)}, f"the gradient has {types}")
    error = distance(got, want)
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
        agree(several, alone, 1e-12, "vmap over parameters is no loop over them")

        table = fields(type(config))
        real = [n for n, f in table.items() if f.kind == "traced" and not f.integer]
        stacked = config.replace(**{n: np.stack([getattr(config, n)] * 2) for n in real})
        axes = jax.tree.map(lambda x: 0 if np.ndim(x) else None, stacked)
        fanned = jax.vmap(loss, in_axes=(None, axes))(params, stacked)
        agree(fanned, [alone[0]] * 2, 1e-12, "vmap over fields is no loop over them")

        direction = jax.tree.map(jnp.cos, params)
        _, slope = jax.jvp(lambda p: loss(p, config), (params,), (direction,))
        closed = jax.jit(lambda p: theory.gradient(p, batch, problem, config))(params)
        pairs = zip(jax.tree.leaves(closed), jax.tree.leaves(direction), strict=True)
        want = sum(jnp.vdot(g, d) for g, d in pairs)
        agree(slope, want, 1e-9, "jvp is not <gradient, direction>", least=1e-12)


def agree(got: Any, want: Any, rtol: float, words: str, least: float = 0.0) -> None:
    """|got - want| <= least + rtol |want|, entry by entry."""
    np.testing.assert_allclose(got, want, rtol=rtol, atol=least, err_msg=words)


def draws_are_the_same(theory: Theory, derived: Collection[str] | None, i: int) -> None:
    """The leading parts of a padded problem and batch are the unpadded ones, bit for bit but in the
    `derived` arrays; the rest is zero.
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
        require(close(got[inside], want), f"{name} depends on padding")
        if derived is not None and name.rpartition(".")[2] not in derived:
            same = np.array_equal(got[inside], want)
            require(same, f"{name} differs in its last bits under padding and is not in `derived`")
        rest = np.array(got)
        rest[inside] = 0
        require(not rest.any(), f"{name} is not zero beyond the sizes")


def padding_changes_nothing(theory: Theory, i: int) -> None:
    """No slot depends on the capacities of the sizes."""
    one = theory._replace(algorithms={name: theory.algorithms[name] for name in trained(theory)})
    found = [row for row in padding.compare_padded(one, theory.examples[i]) if row.error > 1]
    require(not found, found)


def lowers_everywhere(theory: Theory, name: str, i: int) -> None:
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
        dims={},
        coords=lambda config: {},
    )


def second_value(field: Any, value: Any) -> float | None:
    """Another valid value of a real field near the first, or None."""
    if field.integer or value == 0 or value in (field.valid.low, field.valid.high):
        return None
    return next((c * value for c in (0.9, 1.1) if c * value in field.valid), None)


def lane_is_alone(theory: Theory, algorithm: str, i: int) -> None:
    """All sizes padded, real fields of two values, seeds, two numbers of steps: lanes of a sweep
    against `simulate`. Four fields and all metrics for the first example and algorithm, else two
    fields and one metric.
    """
    config, whole = theory.examples[i], i == 0 and algorithm == next(iter(theory.algorithms))
    if not whole:
        theory = bare(theory)
    table = {n: f for n, f in fields(type(config)).items() if f.kind in ("traced", "evaluation")}
    vary = {n: [v, w] for n, f in table.items() if (w := second_value(f, v := getattr(config, n)))}
    axes = dict(list(vary.items())[-4 if whole else -2 :])
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
    anew = {n: Algorithm(*each) for n, each in theory.algorithms.items()}  # they call the wrong one
    changed = Theory(**theory._asdict() | slots | {"algorithms": anew})
    with mock.patch.object(module, name, wrong):
        passed = verify(changed, seeds=2).passed
    require(not passed, f"no check notices this {name}")
