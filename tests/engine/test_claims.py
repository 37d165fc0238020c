import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import Claim, Figure, Verdict
from jaxtheory.engine.claims import judge, run_figure
from jaxtheory.engine.statistics import average, slope


def below(threshold):
    def test(data):
        found = float(average(data.loss.isel(step=-1)).mean)
        return Verdict(found <= threshold, found, threshold, data.sizes["seed"])

    return test


def figure(expected, threshold, minimum=3):
    claim = Claim("loss", "test", "the loss falls", expected, below(threshold), minimum)
    return Figure("falls", "test", THEORY, Config(), {"steps": 40, "seeds": 4}, {"seeds": 2}, (claim,), lambda data: None)


@pytest.mark.parametrize(
    ("expected", "threshold", "as_expected"),
    [("holds", 0.3, True), ("holds", 0.0, False), ("refuted", 0.0, True), ("refuted", 0.3, False), ("open", 0.0, True)],
)
def test_verdict_against_expectation(expected, threshold, as_expected):
    result = run_figure(figure(expected, threshold))
    assert result.verdicts[0].as_expected is as_expected and result.verdicts[0].verdict.n == 4


def test_too_few_seeds_are_no_verdict():
    judged = run_figure(figure("holds", 0.0), quick=True).verdicts[0]
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


def test_too_few_runs_left_for_a_verdict_are_none():
    claim = Claim("x", "s", "s", "refuted", lambda data: Verdict(False, 1.0, 0.5, 2), 3)
    (judged,) = judge((claim,), xr.Dataset(coords={"seed": range(4)}))
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


@pytest.mark.parametrize(("expected", "as_expected"), [("holds", False), ("refuted", False), ("open", True)])
def test_nan_confirms_nothing(expected, as_expected):
    claim = Claim("x", "s", "s", expected, lambda data: Verdict(False, np.nan, 0.5, 4), 3)
    assert judge((claim,), xr.Dataset(coords={"seed": range(4)}))[0].as_expected is as_expected


def test_verdicts_do_not_depend_on_the_key():
    assert all(run_figure(figure("holds", 0.3), key=key).verdicts[0].verdict.holds for key in (1, 2))


def test_average_leaves_out_and_counts_missing_runs():
    data = xr.DataArray([[1.0, 2.0, np.nan, np.inf]], dims=("x", "seed"))
    found = average(data)
    assert found.mean.item() == 1.5 and found.n.item() == 2 and found.excluded.item() == 2
    assert found.error.item() == pytest.approx(0.5)


def test_slope_is_the_exponent_of_a_power_law():
    t = np.array([1.0, 2.0, 5.0, 10.0])
    assert slope(xr.DataArray(3 * t**-0.5, {"step": t}, ("step",)), "step").item() == pytest.approx(-0.5)


def test_unknown_expectation_is_refused():
    with pytest.raises(ValueError, match="expected is"):
        judge((Claim("x", "s", "s", "maybe", below(1.0)),), xr.Dataset(coords={"seed": [0]}))
