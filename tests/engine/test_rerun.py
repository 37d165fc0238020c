"""One run of a stored sweep, run again alone."""

import numpy as np
import pytest

import jaxtheory
from jaxtheory.code.plain import as_json
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.request.request import read
from jaxtheory.engine.rerun import request_of, rerun
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.store.rectangle import content_of
from jaxtheory.theories import low_rank, random_walk
from tests.helpers.quadratic import THEORY, Config

SWEEPS = [
    (random_walk, {"vary": {"p": [0.5, 0.7], "K": [4, 5]}, "seeds": 3, "steps": 6, "record": 4}),
    (
        low_rank,
        {
            "zip": {"setting": ["a", "b"], "eta": [0.1, 0.2], "algorithm": ["sgd", "adam"]},
            "seeds": [4, 9],
            "steps": 5,
            "save_params": [0, 5],
            "dtype": "float64",
        },
    ),
    (low_rank, {"vary": {"steps": [2, 4]}, "steps": 4, "record": {"loss": 2}, "save_params": True}),
]


@pytest.mark.parametrize(("theory", "options"), SWEEPS)
def test_a_rectangle_describes_its_request(theory, options):
    request = read(theory, theory.Config(), **options)
    stored = as_json(identity(request))
    again = as_json(identity(request_of(content_of(stored, [], None), theory.THEORY)))
    assert content_of(again, [], None) == content_of(stored, [], None)


def test_equal_bit_for_bit(tmp_path):
    config = random_walk.Config(length=13)
    jaxtheory.sweep(random_walk, config, **SWEEPS[0][1], store=tmp_path / "walks")
    again = rerun(tmp_path / "walks", p=0.7, K=4, seed=2)
    assert again.differs == [] and {"loss", "predicted_loss_population"} & {*again.same}
    assert "num_states=4" in again.python and "run_key(0, 2)" in again.python
    namespace = {"jaxtheory": jaxtheory}
    lines = again.python.replace("jaxtheory.simulate", "run = jaxtheory.simulate")
    exec(lines, namespace)
    np.testing.assert_allclose(namespace["run"].metrics["loss"][-1], again.values["loss"][-1], 1e-4)


def test_a_number_that_differs_in_its_last_bit_is_found(tmp_path, monkeypatch):
    jaxtheory.sweep(THEORY, Config(), vary={"eta": [0.1, 0.2]}, steps=3, store=tmp_path / "a")
    again = rerun(tmp_path / "a", THEORY, eta=0.2)
    assert again.differs == [] and again.run.config.eta == 0.2
    assert again.values["distance"].shape == (4,)

    def spoilt(request, chunk):
        part = run_chunk(request, chunk)
        values = part.values["metric/distance"]
        part.values["metric/distance"] = np.nextafter(values, np.inf, dtype=values.dtype)
        return part

    monkeypatch.setattr("jaxtheory.engine.rerun.run_chunk", spoilt)
    assert rerun(tmp_path / "a", THEORY, eta=0.2).differs == ["distance"]


@pytest.mark.parametrize("record", [2, {"distance": [0, 7], "inside": [2]}])
@pytest.mark.parametrize("saved", [False, True, [0, 7]])
def test_records_beyond_the_end_of_the_run(tmp_path, record, saved):
    for steps in ([4, 7], [4, 7, 2]):  # the runs of two steps are a rectangle of their own
        options = {"vary": {"steps": steps}, "record": record, "save_params": saved}
        jaxtheory.sweep(THEORY, Config(), seeds=2, steps=7, **options, store=tmp_path / "a")
    again = rerun(tmp_path / "a", THEORY, steps=2, seed=1)
    assert again.differs == [] and "distance" in again.same


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": lambda m: m["distance"] < 0.1}, "the sweep was made with stop="),
        ({"observe": {"a": lambda p, q, c: p}}, "the sweep was made with observe="),
        ({"start": np.ones(1)}, "the sweep was made with start="),
        ({"key": jaxtheory.run_key(0, 1)}, "the key of one run"),
    ],
)
def test_what_a_store_does_not_keep_is_refused(tmp_path, options, message):
    jaxtheory.sweep(THEORY, Config(), steps=3, store=tmp_path / "a", **options)
    with pytest.raises(jaxtheory.InputError, match=message):
        rerun(tmp_path / "a", THEORY)


def test_a_folder_that_is_not_a_store(tmp_path):
    with pytest.raises(jaxtheory.InputError, match="is not the store of a sweep"):
        rerun(tmp_path, THEORY)
