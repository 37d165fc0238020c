"""`sweep`: product and zip axes over every kind of field, and its signature."""

import inspect

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import InputError, boundary, plan, run_key, simulate, sweep
from jaxtheory.engine.request.request import read


def test_product_and_zip_axes_over_every_kind_of_field():
    data = sweep(
        THEORY,
        Config(),
        vary={"d": [2, 5], "eta": [0.1, 0.2], "theta": [0.01, 0.2], "steps": [3, 6]},
        zip={"setting": ["small", "large"], "batch_size": [2, 8], "noise": [0.0, 0.3]},
        seeds=[3, 5],
        steps=0,
        record=[0, 3, 6],
        dtype="float64",
    )
    assert data.loss.dims == (
        "dimension",
        "learning_rate",
        "threshold",
        "steps",
        "setting",
        "seed",
        "step",
    )
    assert data.weights.dims == (*data.loss.dims, "coordinate")
    assert data.batch_size.dims == ("setting",) and data.noise.values.tolist() == [0.0, 0.3]
    assert data.seed.values.tolist() == [3, 5] and data.step.values.tolist() == [0, 3, 6]
    run = simulate(
        THEORY,
        Config(dimension=2, batch_size=8, noise=0.3, learning_rate=0.2, threshold=0.01),
        run_key(0, 5),
        steps=6,
        record=[0, 3, 6],
        dtype="float64",
    )
    lane = data.sel(
        dimension=2, setting="large", learning_rate=0.2, threshold=0.01, steps=6, seed=5
    )
    np.testing.assert_allclose(lane.loss, run.metrics["loss"], rtol=1e-12)
    np.testing.assert_allclose(lane.weights[:, :2], run.metrics["weights"], rtol=1e-12)
    assert np.isnan(lane.weights[:, 2:]).all()  # beyond its own dimension
    assert (
        np.isnan(data.loss.sel(steps=3, step=6)).all()
        and np.isfinite(data.loss.sel(steps=3, step=3)).all()
    )
    np.testing.assert_allclose(
        lane.predicted_loss, THEORY.predict(run.problem, run.config, run.steps)["loss"], rtol=1e-12
    )


def test_the_signature_shows_what_is_asked():
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


def test_the_keywords_of_a_sweep_are_written_once_more_where_it_is_planned_and_read():
    """Three written-out lists, one meaning: order, defaults and types agree."""
    signatures = {verb: inspect.signature(verb).parameters for verb in (sweep, plan, read)}
    common_names = [name for name in signatures[sweep] if name in signatures[plan]]
    assert set(signatures[sweep]) - set(common_names) == {
        "execute",
        "progress",
        "accept_versions",
        "wait",
    }
    assert set(signatures[plan]) - set(common_names) == {"compile"}
    assert [name for name in signatures[plan] if name in common_names] == common_names
    assert common_names[:-1] == [*signatures[read]] and common_names[-1] == "store"
    for name in common_names:
        for verb in (plan, *([read] if name in signatures[read] else [])):
            assert signatures[verb][name].default == signatures[sweep][name].default, name
            assert signatures[verb][name].kind == signatures[sweep][name].kind, name
            if name != "theory":  # what `read` is given is anything
                assert signatures[verb][name].annotation == signatures[sweep][name].annotation, name


SEARCHED = {"along": "eta", "between": (0.01, 1.0), "when": jaxtheory.diverged}
MORE = {boundary: SEARCHED}  # arguments that a verb needs


@pytest.mark.parametrize(
    ("verb", "wrong"),
    [
        (sweep, {"execute": 3}),
        (sweep, {"progress": "bar"}),
        (sweep, {"progress": 10**5000}),
        (boundary, {"progress": True}),
        (boundary, {"execute": 3}),
        (plan, {"compile": np.ones(2)}),
    ],
)
def test_what_is_no_executor_or_no_choice_is_refused_in_one_line(verb, wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"^{name} = ") as error:
        verb(THEORY, Config(), steps=1, **wrong, **MORE.get(verb, {}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("verb", [sweep, boundary])
@pytest.mark.parametrize("name", ["progress", "execute"])
def test_a_function_of_no_arguments_is_refused_before_training(verb, name, monkeypatch):
    monkeypatch.setattr("jaxtheory.engine.execution.local.run_chunk", lambda *a: pytest.fail())
    with pytest.raises(InputError, match=rf"^{name} takes \(\), but is called with \("):
        verb(THEORY, Config(), steps=1, **{name: lambda: None}, **MORE.get(verb, {}))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("execute", "message"),
    [
        (lambda task, chunks, tell: None, "yields None"),
        (lambda task, chunks, tell: 3, "yields 3"),
        (lambda task, chunks, tell: [task(chunk) for chunk in chunks], "yields"),
        (lambda task, chunks, tell: [(chunk, None) for chunk in chunks], "yields"),
        (lambda task, chunks, tell: [(c, task(c)) for c in chunks for _ in range(2)], "once"),
        (lambda task, chunks, tell: [], r"left out (\d) of \1 chunks"),
        (lambda task, chunks, tell: ((c, task(c)) for c in chunks[1:]), r"left out 1 of \d chunks"),
    ],
)
def test_an_executor_yields_each_chunk_once(execute, message, stored, tmp_path):
    place = {"store": tmp_path / "store"} if stored else {}
    with pytest.raises(InputError, match=f"^the executor .*{message}"):
        sweep(THEORY, Config(), seeds=40, steps=1, execute=execute, **place)


@pytest.mark.parametrize("option", [{"accept_versions": True}, {"wait": False}])
def test_options_of_a_store_are_refused_without_one(option, tmp_path):
    with pytest.raises(InputError, match=r"=\w+ has no effect without a store; pass store= too"):
        sweep(THEORY, Config(), steps=0, **option)
    sweep(THEORY, Config(), steps=0, store=tmp_path / "store", **option)
