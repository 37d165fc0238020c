import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import Figure, InputError, holds, refuted, undecided, verdict
from jaxtheory.claims.claim import judge, run_figure
from jaxtheory.engine.results.statistics import average, slope

MAKERS = {"holds": holds, "refuted": refuted, "open": undecided}
SEEDS = xr.Dataset(coords={"seed": range(4)})


def figure(expected, threshold, minimum=3):
    last = lambda data: data.loss.isel(step=-1)
    claim = MAKERS[expected](
        "loss", "derived", "test", "the loss falls", last, at_most=threshold, minimum=minimum
    )
    return Figure(
        "falls",
        "test",
        THEORY,
        Config(),
        {"steps": 40, "seeds": 4},
        {"seeds": 2},
        (claim,),
        lambda data: None,
    )


def made(expected, *values, minimum=3):
    """A claim whose four runs measure these values, to be at least 1."""
    measured = xr.DataArray(list(values), dims="seed")
    return MAKERS[expected](
        "x", "printed", "s", "s", lambda data: measured, at_least=1.0, minimum=minimum
    )


@pytest.mark.parametrize(
    ("expected", "threshold", "as_expected"),
    [
        ("holds", 0.3, True),
        ("holds", 0.0, False),
        ("refuted", 0.0, True),
        ("refuted", 0.3, False),
        ("open", 0.0, True),
    ],
)
def test_verdict_against_expectation(expected, threshold, as_expected):
    result = run_figure(figure(expected, threshold))
    assert result.verdicts[0].as_expected is as_expected and result.verdicts[0].verdict.n == 4


def test_too_few_seeds_are_no_verdict():
    judged = run_figure(figure("holds", 0.0), quick=True).verdicts[0]
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


def test_too_few_runs_left_for_a_verdict_are_none():
    (judged,) = judge((made("refuted", 1.0, 2.0, np.nan, np.nan),), SEEDS)
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


@pytest.mark.parametrize(
    ("expected", "as_expected"), [("holds", False), ("refuted", False), ("open", True)]
)
def test_nan_confirms_nothing(expected, as_expected):
    claim = made(expected, *[np.nan] * 4, minimum=0)
    assert judge((claim,), SEEDS)[0].as_expected is as_expected


CONDITIONS = xr.DataArray([[1.0, 3.0], [5.0, 7.0]], dims=("x", "seed"))


@pytest.mark.parametrize(
    ("options", "holds", "measured"),
    [
        ({"at_least": 2.0}, True, 2.0),
        ({"at_least": 2.1}, False, 2.0),
        ({"at_most": 6.0}, True, 6.0),
        ({"at_most": 5.9}, False, 6.0),
        ({"at_most": 2.0, "where": "somewhere"}, True, 2.0),
        ({"at_least": 6.1, "where": "somewhere"}, False, 6.0),
        ({"between": (2.0, 6.0)}, True, 2.0),
        ({"between": (2.0, 5.0)}, False, 6.0),
        ({"between": (3.0, 6.0)}, False, 2.0),
        ({"between": (3.9, 4.1), "where": "together"}, True, 4.0),
        ({"at_least": 1.0, "statistic": "each"}, True, 1.0),
        ({"at_least": 1.1, "statistic": "each"}, False, 1.0),
        ({"at_most": 4.0, "statistic": "median", "where": "together"}, True, 4.0),
    ],
)
def test_statistic_place_and_bound(options, holds, measured):
    found = verdict(CONDITIONS, **options)
    assert (found.holds, found.n) == (holds, 2) and found.measured == pytest.approx(measured)


def test_a_share_counts_truth_and_an_infinite_run_is_the_worst():
    assert verdict(CONDITIONS > 2, statistic="share", where="together", at_least=0.75).holds
    assert not verdict(CONDITIONS > 2, statistic="share", at_least=0.75).holds
    assert not verdict(
        xr.DataArray([1.0, np.inf], dims="seed"), statistic="each", at_most=2.0
    ).holds


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"at_least": 1.0, "at_most": 2.0},
        {"statistic": "mode", "at_least": 1.0},
        {"where": "here", "at_least": 1.0},
    ],
)
def test_a_verdict_needs_one_bound_and_known_words(options):
    with pytest.raises(InputError):
        verdict(CONDITIONS, **options)


def test_verdicts_do_not_depend_on_the_key():
    assert all(
        run_figure(figure("holds", 0.3), key=key).verdicts[0].verdict.holds for key in (1, 2)
    )


def test_an_average_of_large_float32_has_an_error():
    values = xr.DataArray(np.float32([1e30, 3e30]), dims="seed")
    found = average(values)
    assert float(found.mean) == pytest.approx(2e30) and float(found.error) == pytest.approx(1e30)


def test_average_leaves_out_and_counts_missing_runs():
    data = xr.DataArray([[1.0, 2.0, np.nan, np.inf]], dims=("x", "seed"))
    found = average(data)
    assert found.mean.item() == 1.5 and found.n.item() == 2 and found.excluded.item() == 2
    assert found.error.item() == pytest.approx(0.5)


def test_slope_is_the_exponent_of_a_power_law():
    t = np.array([1.0, 2.0, 5.0, 10.0])
    assert slope(xr.DataArray(3 * t**-0.5, {"step": t}, ("step",)), "step").item() == pytest.approx(
        -0.5
    )


def test_an_unknown_origin_is_refused():
    with pytest.raises(InputError, match="origin is 'hearsay'"):
        holds("x", "hearsay", "s", "s", lambda data: data, at_least=1.0)


def test_a_verdict_says_how_many_runs_are_behind_its_conditions():
    """One of four runs is left at the second condition, none at the third; infinite is no value."""
    nan, inf = np.nan, np.inf
    values = xr.DataArray(
        [[1.0, 1, 1, 1], [0.9, nan, inf, nan], [nan] * 4], dims=["p", "seed"]
    ).transpose("seed", "p")
    for where in ("everywhere", "somewhere", "together"):
        found = verdict(values, where=where, at_least=0.5)
        assert (found.holds, found.n, found.least, found.seeds) == (True, 4, 1, 4), where
    assert verdict(values.isel(p=2), at_least=0.5)[3:] == (0, None, "", 0, 4)
    lost = verdict(values.isel(p=[1]), at_least=0.5)
    assert (lost.n, lost.least) == (1, 1)
    assert verdict(values.isel(p=[0]) > 0, statistic="share", at_least=0.5).least == 4


def test_a_verdict_on_a_mean_over_seeds_counts_the_runs_that_diverged():
    data = xr.Dataset(
        {
            "loss": (("p", "seed"), [[1.0, 1, 1, 1], [1, np.nan, np.nan, np.nan]]),
            "diverged_at": (("p", "seed"), [[-1, -1, -1, -1], [-1, 2, 2, 2]]),
        }
    )
    mean = holds("m", "derived", "s", "s", lambda d: d.loss.mean("seed"), at_least=1, minimum=2)
    (found,) = judge((mean,), data)
    assert found.verdict and (found.verdict.least, found.verdict.seeds) == (1, 4)
