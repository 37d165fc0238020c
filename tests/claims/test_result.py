"""Figures are run and their claims judged, with more seeds until they are decided."""

import numpy as np
import pytest
import xarray as xr
from helpers import quadratic
from helpers.stores import parts
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import Figure, InputError
from jaxtheory.claims import at_most, between, derived, last, run_figure

from .test_claim import make


def figure(expect, threshold):
    claim = make(
        "loss",
        origin=derived("test"),
        measure=lambda data: last(data.loss),
        bound=at_most(threshold),
        expect=expect,
    )
    return Figure(
        "falls",
        "test",
        THEORY,
        Config(),
        {"steps": 40, "seeds": 8, "dtype": "float64"},
        {"seeds": 2},
        (claim,),
        lambda data: None,
    )


@pytest.mark.parametrize(
    ("expect", "threshold", "as_expected"),
    [
        ("holds", 0.3, True),
        ("holds", 0.0, False),
        ("fails", 0.0, True),
        ("fails", 0.3, False),
        (None, 0.0, True),
    ],
)
def test_verdict_against_expectation(expect, threshold, as_expected):
    result = run_figure(figure(expect, threshold))
    assert result.verdicts[0].as_expected is as_expected and result.verdicts[0].verdict.n == 8


def test_too_few_seeds_are_no_verdict():
    judged = run_figure(figure("holds", 0.0), quick=True).verdicts[0]
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 8)" and judged.as_expected


def test_verdicts_do_not_depend_on_the_key():
    assert all(
        run_figure(figure("holds", 0.3), key=key).verdicts[0].verdict.holds for key in (1, 2)
    )


def halting(threshold, seeds=8):
    """A figure of few steps."""
    request = figure("holds", threshold)
    return request._replace(sweep=request.sweep | {"seeds": seeds, "steps": 3, "record": [0, 3]})


def test_seeds_are_doubled_until_a_claim_is_decided(tmp_path):
    """Those of earlier looks are computed once, in one store, and all are those of one sweep."""
    reference = run_figure(halting(1.0, 32))
    median = float(last(reference.dataset.loss).median())
    for threshold, seeds in ((1e3, 8), (median, 32)):
        request = halting(threshold)
        result = run_figure(request, max_seeds=32, store=tmp_path / "run")
        assert result.dataset.sizes["seed"] == seeds
        assert result.verdicts[0].finding == ("holds" if seeds == 8 else "undecided")
    assert result.stores == (result.store,) == (tmp_path / "run",)
    assert result.dataset.seed.values.tolist() == [*range(32)]
    np.testing.assert_allclose(result.dataset.loss, reference.dataset.loss, rtol=1e-12)
    memory = run_figure(request, max_seeds=32).dataset
    np.testing.assert_allclose(memory.loss, reference.dataset.loss, rtol=1e-12)
    before = {part: part.stat().st_mtime_ns for part in parts(tmp_path / "run")}
    again = run_figure(request, max_seeds=48, store=tmp_path / "run")
    assert again.dataset.sizes["seed"] == 48
    assert {part: part.stat().st_mtime_ns for part in before} == before


def test_the_verdicts_are_those_of_all_seeds():
    """A claim that the first look decided is judged again with the seeds that another needs."""
    request = halting(1e3)
    median = float(last(run_figure(halting(1.0, 32)).dataset.loss).median())
    claims = (request.claims[0], halting(median).claims[0])
    verdicts = run_figure(request._replace(claims=claims), max_seeds=32).verdicts
    assert [judged.verdict.n for judged in verdicts] == [32, 32]
    assert [judged.finding for judged in verdicts] == ["holds", "undecided"]


def cells(folder, key, progress, seeds):
    """An experiment that keeps a file for each seed, with the number of times it was measured."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):
        with (folder / str(seed)).open("a") as file:
            file.write("x" if file.tell() == 0 else "")
    values = np.random.default_rng(key).normal(size=seeds)
    return xr.Dataset({"loss": ("seed", values)}, {"seed": range(seeds)})


def test_an_experiment_measures_its_further_seeds_in_the_same_folder(tmp_path):
    request = figure("holds", 0.0)._replace(
        theory=None, config=None, experiment=cells, sweep={"seeds": 8}
    )
    result = run_figure(request, max_seeds=16, store=tmp_path)
    assert result.dataset.sizes["seed"] == 16
    assert result.dataset.seed.values.tolist() == [*range(16)]
    assert result.stores == (result.store,) and len([*result.store.iterdir()]) == 16


def edge(seeds=8, **options):
    """A figure on the boundary of each run, which is where the law says."""
    claim = make(
        "edge",
        origin=derived("test"),
        measure=lambda data: data.boundary / data.law,
        bound=between(0.99, 1.01),
    )
    sweep = {
        "along": "eta",
        "between": (0.1, 30.0),
        "when": jaxtheory.below("distance", 1.0),
        "law": lambda problem, config: 2 / problem.curvature,
        "tolerance": 1e-3,
        "seeds": seeds,
        "steps": 7,
    }
    return Figure(
        "edge",
        "test",
        quadratic.THEORY,
        quadratic.Config(),
        sweep | options,
        {"seeds": 2, "tolerance": 0.01},
        (claim,),
        lambda data: None,
        verb=jaxtheory.boundary,
    )


def test_a_figure_of_boundaries_is_stored_judged_and_extended(tmp_path, monkeypatch):
    result = run_figure(edge(), store=tmp_path / "edge")
    assert result.verdicts[0].finding == "holds" and result.stores == (tmp_path / "edge",)
    assert result.dataset.sizes["seed"] == 8
    with monkeypatch.context() as patched:
        patched.setattr(jaxtheory.engine.search, "train_chunk", None)  # nothing is trained again
        assert run_figure(edge(), store=tmp_path / "edge").dataset.identical(result.dataset)
    quick = run_figure(edge(), quick=True)
    assert quick.dataset.sizes["seed"] == 2 and quick.dataset.tolerance == 0.01
    wide = edge(between=(0.1, 3.0))  # some runs have their boundary beyond
    reference = run_figure(wide._replace(sweep=wide.sweep | {"seeds": 16})).dataset
    filled = lambda data: data.boundary.fillna(4.0)
    median = float(filled(reference).median())  # of the last look: undecided until then
    request = wide._replace(claims=(make("edge", measure=filled, bound=at_most(median)),))
    longer = run_figure(request, max_seeds=16, store=tmp_path / "wide")
    assert longer.dataset.sizes["seed"] == 16 and len(longer.stores) == 2
    np.testing.assert_allclose(longer.dataset.boundary, reference.boundary, rtol=1e-3)
    np.testing.assert_allclose(longer.dataset.law, reference.law)
    assert longer.dataset.holds.dims == ("seed", "eta") and reference.note
    assert "note" not in longer.dataset.attrs


def test_a_figure_of_boundaries_names_an_argument_that_its_verb_does_not_take():
    with pytest.raises(InputError, match="unknown argument 'vary'"):
        run_figure(edge(vary={"s": [1.0]}))


def test_the_number_of_seeds_at_most_is_checked():
    with pytest.raises(InputError, match="max_seeds = 3: must be at least 8"):
        run_figure(halting(1.0), max_seeds=3)
    with pytest.raises(InputError, match="quick and max_seeds"):
        run_figure(halting(1.0), max_seeds=8, quick=True)
