"""What is compiled is kept under the slots it uses; what is planned is arithmetic; where the engine
does not run it says so.
"""

import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config, compilations, training_loops

from jaxtheory import InputError, plan, run_key, simulate, sweep
from jaxtheory.engine.compute import precompile, program
from jaxtheory.engine.execution import local
from jaxtheory.engine.planning.lay_out import make
from jaxtheory.engine.planning.layout import Chunk, lanes
from jaxtheory.engine.request.request import read


def test_theories_that_differ_in_an_analysis_share_the_training_loop():
    other = THEORY._replace(
        analyses=lambda params, problem, config: {"twice": 2 * params.weights},
        dims={**THEORY.dims, "twice": ("coordinate",)},
    )
    options = {"vary": {"eta": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    with compilations() as seen:
        for theory in (THEORY, other, THEORY, other):
            data = sweep(theory, Config(dimension=9), **options)
    assert (
        training_loops(seen) <= 1 and "twice" in data and sum("_look" in name for name in seen) <= 3
    )


def test_a_second_sweep_of_any_theory_compiles_nothing():
    options = {"vary": {"eta": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    sweep(THEORY, Config(dimension=11), **options)
    with compilations() as seen:
        sweep(THEORY, Config(dimension=11), **{**options, "key": 3})
    assert training_loops(seen) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_compiled_ahead_is_not_compiled_again(monkeypatch, workers):
    """Each function once, by a call or before it; with the same numbers."""
    monkeypatch.setenv("JAXTHEORY_DEVICES", workers)
    program._compiled.clear()
    options = {"vary": {"eta": [0.1, 0.2], "d": [4, 9]}, "seeds": 3, "steps": 4, "buckets": "exact"}
    with compilations() as seen:
        data = sweep(THEORY, Config(), dtype="float64", **options)
    names = [name[4:-1] for name in seen if name[4:-1] in CHUNK]
    assert sorted(names) == sorted([*CHUNK, "_look"] * 2)  # metrics and analyses, two sizes
    whole.setdefault("first", data)
    assert data.identical(whole["first"])


CHUNK = ("_draw", "_begin", "_train_block", "_look", "_baselines", "_predict")
whole: dict = {}


def test_a_second_algorithm_on_the_same_problem_is_compiled_ahead_too(monkeypatch):
    monkeypatch.setenv("JAXTHEORY_DEVICES", "2")
    program._compiled.clear()
    options = {"seeds": 2, "steps": 4, "dtype": "float64"}
    sweep(THEORY, Config(dimension=10), **options)
    pools, pool = [], precompile.ThreadPoolExecutor
    monkeypatch.setattr(
        precompile, "ThreadPoolExecutor", lambda *a, **k: pools.append(1) or pool(*a, **k)
    )
    sweep(THEORY, Config(dimension=10), **options)
    assert not pools
    other = THEORY._replace(algorithms={"other": THEORY.algorithms["sgd"]._replace(step=still)})
    sweep(other, Config(dimension=10), **options)
    assert pools


def still(_key, _t, state, _batch, _problem, _config):
    return state


def test_what_cannot_be_compiled_says_so_when_it_is_called(monkeypatch):
    monkeypatch.setenv("JAXTHEORY_DEVICES", "2")
    monkeypatch.setattr("jaxtheory.core.contract.require", lambda *_: None)  # says so before
    broken = THEORY._replace(metrics=lambda params, problem, config: {"loss": 1 / 0 * params})
    with pytest.raises(ZeroDivisionError):
        sweep(broken, Config(dimension=13), seeds=2, steps=4, dtype="float64")


def test_a_million_runs_are_planned_by_arithmetic():
    axes = {"eta": [0.1 + 1e-6 * i for i in range(1000)], "noise": [1e-4 * i for i in range(1000)]}
    tracemalloc.start()
    made = plan(THEORY, Config(), vary=axes, steps=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (made.points, made.runs, made.problems) == (1_000_000, 1_000_000, 1000)
    assert peak < 300e6  # some arrays of a million numbers; a Python object per run would take more
    assert (
        plan(THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=500_000, steps=5).runs == 1_000_000
    )


def test_every_run_stands_in_one_lane():
    """The lanes of all chunks together are the points times the seeds, with the values of each
    point.
    """
    request = read(
        THEORY,
        Config(),
        vary={"eta": [0.1, 0.2, 0.3], "noise": [0.0, 0.1], "theta": [0.1, 0.2], "steps": [3, 5]},
        zip={"d": [2, 4], "batch_size": [3, 5]},
        seeds=[4, 7, 9],
        steps=0,
    )
    seen = []
    for chunk in make(request).chunks:
        inputs = lanes(request, chunk)
        where, points, places = inputs.out
        for slot, row, run, value, i, place in zip(*where, points, places, strict=True):
            config, _, steps = request.points.point(int(i))
            assert (
                inputs.limit[slot, row, run] == steps
                and inputs.seed[slot, row] == request.seeds[place]
            )
            fields = {n: v[slot, row] for n, v in inputs.shared.items()} | {
                n: v[slot, row, run] for n, v in inputs.own.items()
            }
            fields |= {n: v[slot, row, run, value] for n, v in inputs.values.items()}
            for name, found in fields.items():
                wanted = getattr(config, name)
                assert found == pytest.approx(getattr(wanted, "n", wanted)), name
            seen.append((int(i), int(place)))
    assert sorted(seen) == [(i, s) for i in range(request.points.total) for s in range(3)]


def test_a_row_of_many_runs_is_cut_and_every_cut_gives_the_same_bits(monkeypatch):
    many = plan(THEORY, Config(), vary={"eta": [0.1 + 1e-6 * i for i in range(10_000)]}, steps=5)
    assert many.problems == 1 and sum(chunk.last - chunk.first for chunk in many.chunks) > 100
    options = {
        "vary": {"eta": [0.1 + 1e-3 * i for i in range(300)]},
        "seeds": 2,
        "steps": 5,
        "dtype": "float64",
    }
    whole = sweep(THEORY, Config(), **options)
    monkeypatch.setattr(local, "CHUNK_SECONDS", 1e-9)  # a slot at a time
    assert sweep(THEORY, Config(), **options).identical(whole)


def test_a_chunk_is_a_pure_function_of_the_request():
    request = read(THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=3, steps=4, dtype="float64")
    chunk = make(request).chunks[0]
    one, two = local.run_chunk(request, chunk), local.run_chunk(request, Chunk(*chunk))
    assert (
        all(np.array_equal(one.values[n], two.values[n], equal_nan=True) for n in one.values)
        and one.values
    )


def test_inside_a_transformation_one_line_says_so():
    def loss(eta):
        return sweep(THEORY, Config(learning_rate=eta), steps=3).loss.values[-1]

    def swept(eta):
        return jnp.asarray(sweep(THEORY, Config(), vary={"eta": [eta]}, steps=3).loss.values)

    def ran(eta):
        return simulate(THEORY, Config(learning_rate=eta), run_key(0, 0), steps=3).metrics["loss"][
            -1
        ]

    for function in (loss, swept, ran):
        for transformed, at in (
            (jax.jit(function), 0.1),
            (jax.grad(function), 0.1),
            (jax.vmap(function), jnp.array([0.1, 0.2])),
        ):
            with pytest.raises(InputError, match="run outside of jit, vmap and grad") as error:
                transformed(at)
            assert "\n" not in str(error.value)


def test_debug_nans_makes_a_diverging_run_an_error_of_one_line():
    options = {"vary": {"eta": [0.1, 1e200]}, "steps": 30, "record": 10, "dtype": "float64"}
    with jax.debug_nans(True):
        assert np.isfinite(sweep(THEORY, Config(), steps=3, dtype="float64").loss).all()
        with pytest.raises(InputError, match="jax_debug_nans is on") as error:
            sweep(THEORY, Config(), **options)
    assert (
        "\n" not in str(error.value) and (sweep(THEORY, Config(), **options).diverged_at >= 0).any()
    )


def test_the_signature_shows_what_is_asked():
    import inspect

    shown = list(inspect.signature(sweep).parameters)
    assert shown[:2] == ["theory", "config"] and {
        "vary",
        "zip",
        "seeds",
        "steps",
        "record",
        "store",
        "progress",
        "execute",
    } <= set(shown)
    assert {"vary", "steps", "compile"} <= set(inspect.signature(plan).parameters)
    with pytest.raises(InputError, match=r"unknown argument 'seed'; did you mean 'seeds'"):
        sweep(THEORY, Config(), steps=3, seed=4)


MANY = """
import sys; sys.path.insert(0, {here!r})
import jaxtheory
from helpers.worked_example import THEORY, Config
for k in range(120):
    config = Config(dimension=2 + k % 12, batch_size=3 + k // 12)
    jaxtheory.sweep(THEORY, config, vary={{"eta": [0.1, 0.2]}}, seeds=2, steps=5)
print(int(open("/proc/self/statm").read().split()[1]) * {page} // 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the resident memory from /proc"
)
def test_many_different_sweeps_stay_below_800_megabytes():
    code = MANY.format(here=str(Path(__file__).parents[2]), page=resource.getpagesize())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 800  # 2240 where every program is kept


def test_executors_are_exchangeable():
    """Any function that maps chunks to parts will do, in any order."""

    def backwards(run, chunks, tell=local.silent):
        for chunk in reversed(list(chunks)):
            yield chunk, run(chunk, tell)

    options = {"vary": {"d": [2, 5], "eta": [0.1, 0.2]}, "seeds": 5, "steps": 4, "dtype": "float64"}
    assert sweep(THEORY, Config(), execute=backwards, **options).identical(
        sweep(THEORY, Config(), **options)
    )
