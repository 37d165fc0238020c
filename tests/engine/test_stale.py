"""A global that is bound anew after a first call is read by the next, wherever JAX keeps a trace.

Each test compares with the same theory in a new module, which has the new value from the start.
"""

import types

import jax
import jax.numpy as jnp
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError

SOURCE = """
from functools import partial
from typing import NamedTuple

import flax.linen as nn
from flax import nnx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import jaxtheory
from jaxtheory import Algorithm, Check, Size, Theory, from_optax, size, traced

LAM = 0.5


def plain(x):
    return LAM * x


def scan_body(x, _):
    return LAM * x, None


def loop_body(_i, x):
    return LAM * x


@jax.jit
def helper(x):
    return LAM * x


@jax.checkpoint
def remembered(x):
    return LAM * x


@jax.custom_jvp
def ruled(x):
    return LAM * x


@ruled.defjvp
def rule(primals, tangents):
    return ruled(*primals), LAM * tangents[0]


class Scale(nn.Module):
    @nn.jit
    @nn.compact
    def __call__(self, x):
        return LAM * x


class Box:
    scale = LAM

    @jax.jit
    def scaled(x):
        return BOX.scale * x


BOX, TABLE = Box(), {"scale": LAM}


@jax.jit
def by_table(x):
    return TABLE["scale"] * x


@jax.custom_vjp
def backward(x):
    return LAM * x


backward.defvjp(lambda x: (LAM * x, None), lambda _, slope: (LAM * slope,))

WAYS = {
    "plain": plain,
    "attribute": Box.scaled,
    "entry": by_table,
    "backward": backward,
    "nnx": nnx.jit(lambda x: LAM * x),
    "vmap": lambda x: jax.vmap(plain)(x[None])[0],
    "remat": jax.remat(lambda x: scan_body(x, None)[0]),
    "scan": lambda x: jax.lax.scan(scan_body, x, None, length=1)[0],
    "cond": lambda x: jax.lax.cond(jnp.sum(x) < jnp.inf, plain, jnp.zeros_like, x),
    "loop": lambda x: jax.lax.fori_loop(0, 1, loop_body, x),
    "jit": helper,
    "checkpoint": remembered,
    "rule": ruled,
    "flax": lambda x: Scale().apply({}, x),
}
scaled = WAYS[WAY]


class Config(jaxtheory.Config):
    d: Size = size(2, "d", "dimension")
    rate: float = traced(0.1, "eta", "step size", "(0, inf)")


class Problem(NamedTuple):
    target: Float[Array, ""]


class Params(NamedTuple):
    w: Float[Array, ""]
    first: Float[Array, ""]
    batch: Float[Array, ""]


def one():
    return scaled(jnp.ones(()))


def problem(key, config):
    return Problem(one())


def sample(key, problem, config):
    return one()


def init(key, problem, config):
    return Params(jnp.ones(()), one(), jnp.zeros(()))


def loss(params, batch, problem, config):
    return scaled(params.w**2) / 2


def gradient(params, batch, problem, config):
    zero = jnp.zeros(())
    return Params(scaled(params.w), zero, zero)


def step(key, t, state, batch, problem, config):
    slope = gradient(state, batch, problem, config).w
    return Params(state.w - config.rate * slope, state.first, batch)


def metrics(params, problem, config):
    return {**params._asdict(), "target": problem.target, "metric": one() * jnp.ones(1)}


def baselines(problem, config):
    return {"metric": one() * jnp.ones(1)}


def analyses(params, problem, config):
    return {"analysis": one() * jnp.ones(config.d.cap)}


def coords(config):
    return {"index": [float(one())] * config.d.cap}


def predict(problem, config, steps):
    return {"w": one() + jnp.zeros(steps.shape)}


def observed(params, problem, config):
    return one() + params.w


def law(problem, config):
    return one()


def optimizer(config):
    return optax.sgd(config.rate * one())


THEORY = Theory(
    "rebound", Config, problem, sample, init, loss, gradient,
    algorithms={"gd": Algorithm(init, step)}, metrics=metrics, baselines=baselines,
    analyses=analyses, coords=coords, predict=predict, dims={"analysis": ("index",)},
    checks=(Check("scale: one half", "", "equal", lambda key, config: (one(), jnp.float64(0.5))),),
    examples=(Config(),),
)
THEORY.algorithms["optax"] = from_optax(THEORY, optimizer)
"""
WAYS = ["plain", "scan", "cond", "loop", "jit", "checkpoint", "rule", "flax"]
WAYS += ["attribute", "entry", "backward", "nnx", "vmap", "remat"]
NUMBERS = ["w", "first", "batch", "target", "metric", "analysis", "predicted_w", "seen"]


def module(way, lam=0.5):
    """The theory in a new module."""
    new = types.ModuleType("stale")
    new.WAY = way
    exec(compile(SOURCE.replace("LAM = 0.5", f"LAM = {lam}"), "<stale>", "exec"), vars(new))
    return new


def rebind(script, lam):
    """Give the module another value, in each place that has it."""
    script.LAM = script.BOX.scale = script.TABLE["scale"] = lam


def swept(script, **more):
    options = {"vary": {"algorithm": ["gd", "optax"]}, "steps": 2, "record": [2]}
    return jaxtheory.sweep(
        script.THEORY, script.Config(), observe={"seen": script.observed}, **options, **more
    )


def dataset(arrays):
    """Arrays by name, each with axes of its own."""
    dims = lambda name, array: [f"{name}_{i}" for i in range(jnp.ndim(array))]
    return xr.Dataset({name: (dims(name, array), array) for name, array in arrays.items()})


def simulated(script):
    key = jaxtheory.run_key(0, 0)
    run = jaxtheory.simulate(
        script.THEORY, script.Config(), key, steps=2, record=[2], algorithm="optax"
    )
    arrays = {**run.metrics, **run.analyses, "problem": run.problem.target, "now": run.params.w}
    return dataset(arrays)


def bounded(script):
    when = lambda data: data.w.isel(step=0) < 0.9
    options = {"along": "rate", "between": (0.01, 0.9), "seeds": 1, "steps": 2, "law": script.law}
    return jaxtheory.boundary(script.THEORY, script.Config(), when=when, tolerance=0.5, **options)


def drawn(script):
    data = swept(script, save_params=True)
    arrays = jaxtheory.load_params(data, script.THEORY, algorithm="gd")._asdict()
    arrays["target"] = jaxtheory.load_problem(data, script.THEORY, algorithm="gd").target
    return dataset(arrays)


def called(script):
    """The functions of the theory called as they are, before anything else."""
    theory, config, key = script.THEORY, script.Config(), jaxtheory.run_key(0, 0)
    problem = theory.problem(key, config)
    batch = theory.sample(key, problem, config)
    for algorithm in theory.algorithms.values():
        state = algorithm.init(key, problem, config)
        algorithm.step(key, 0, state, batch, problem, config)
    params = theory.init(key, problem, config)
    jax.value_and_grad(theory.loss)(params, batch, problem, config)
    theory.gradient(params, batch, problem, config)
    theory.metrics(params, problem, config), theory.analyses(params, problem, config)
    theory.baselines(problem, config), theory.predict(problem, config, jnp.arange(2))
    script.observed(params, problem, config)
    return xr.Dataset({})


def require_new(first, then, way):
    """Call `first`, bind LAM anew, and compare `then` with a module that has the new value."""
    script = module(way)
    old = first(script)
    rebind(script, 2.0)
    got, want = then(script), then(module(way, 2.0))
    for name, right in want.variables.items():
        xr.testing.assert_identical(got[name].variable, right)
        constant = name in ("rate", "step") or (name, then) == ("batch", simulated)
        if first is then and right.dtype.kind == "f" and not constant:
            assert not old[name].variable.equals(right), name
    return got


def test_a_sweep(way="scan"):
    data = require_new(swept, swept, way)
    assert {*NUMBERS, "index"} <= {*map(str, data.variables)}


@pytest.mark.parametrize("way", ["jit", "nnx"])
def test_a_run_after_calls_and_no_sweep(way):
    require_new(called, simulated, way)


def test_a_gradient_after_its_loss_was_bound_anew():
    script = module("jit")
    params = script.Params(*3 * [jnp.ones(())])
    compare = lambda: jaxtheory.compare_gradients(
        script.loss, script.gradient, params, None, None, None
    )
    assert compare().agrees
    script.scaled = lambda x: x  # in both; then in the gradient alone
    assert compare().agrees
    script.gradient = lambda params, *_: params._replace(w=3 * params.w)
    assert not compare().agrees


def verified(script):
    rows = jaxtheory.verify(script.THEORY, seeds=1).checks
    return {row.check: row.passed for row in rows}


@pytest.mark.parametrize("way", ["loop"])
def test_checks(way):
    script = module(way)
    assert all(verified(script).values())
    rebind(script, 2.0)
    rows = verified(script)
    assert not rows.pop("scale: one half") and all(rows.values())
    script.gradient = lambda params, *_: params  # which the step calls; the slot has the old one
    assert not verified(script)["scale: one half"]
    rebind(script, 0.5)
    assert all(verified(script).values())


READING = """
extra = lambda rate: 0.0
inner = jax.jit(lambda rate: 1.0 + extra(rate))
reading = THEORY._replace(problem=lambda key, config: Problem(jnp.asarray(inner(config.rate))))
"""


def test_fields_that_a_problem_reads_now_are_no_longer_shared():
    script = module("jit")
    exec(READING, vars(script))
    options = {"vary": {"rate": [1.0, 2.0]}, "steps": 0}
    targets = lambda: jaxtheory.sweep(
        script.reading, script.Config(), **options
    ).target.values.ravel()
    assert targets().tolist() == [1, 1]
    exec("extra = lambda rate: rate", vars(script))
    assert targets().tolist() == [2, 3]


def test_the_value_of_before_needs_no_new_program():
    from helpers.worked_example import compilations

    script = module("scan")
    swept(script)
    rebind(script, 2.0)
    swept(script)
    rebind(script, 0.5)
    with compilations() as programs:
        swept(script)
    assert not programs


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verb", [swept, simulated, bounded, drawn])
@pytest.mark.parametrize("eager", [False, True])
def test_every_verb_and_every_place_of_a_trace(way, verb, eager):
    require_new(called if eager else verb, verb, way)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_checks_of_every_place(way):
    test_checks(way)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_store_refuses_the_old_value(way, tmp_path):
    script = module(way)
    swept(script, store=tmp_path / "one")
    rebind(script, 2.0)
    with pytest.raises(InputError, match=r"another request|has changed since"):
        swept(script, store=tmp_path / "one")
    got, want = swept(script, store=tmp_path / "two"), swept(module(way, 2.0))
    xr.testing.assert_equal(got, want)
