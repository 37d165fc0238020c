"""Exponents are those of made-up laws, and their intervals cover them."""

import re

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError
from jaxtheory.claims import fitted_law

T = np.geomspace(1, 1000, 7)


def laws(rng, n=8, spread=0.1, curve=0.0):
    """Runs of 2 t^-0.5 (p = 0) and t^1.5 (p = 1), each times a factor of its own and noise."""
    shape = np.stack([2 * T**-0.5, T**1.5]) * np.exp(curve * np.log(T) ** 2)
    factor = rng.lognormal(0, spread, (n, 2, 1)) * rng.lognormal(0, spread / 3, (n, 2, len(T)))
    coords = {"p": [0.3, 0.7], "step": T}
    return xr.DataArray(shape * factor, coords, ("seed", "p", "step"))


def test_the_exponent_of_a_law():
    law = jaxtheory.exponent(laws(np.random.default_rng(0), spread=0.0), "step")
    np.testing.assert_allclose(law.exponent, [-0.5, 1.5], atol=1e-12)
    np.testing.assert_allclose(law.local, np.array([[-0.5], [1.5]]) * np.ones(6), atol=1e-12)
    np.testing.assert_allclose(law.local.step, np.sqrt(T[1:] * T[:-1]))
    np.testing.assert_allclose(law.curvature, 0, atol=1e-11)
    assert law.p.values.tolist() == [0.3, 0.7] and law.straight.values.tolist() == [True, True]


def test_intervals_cover_the_exponent_and_the_straightness():
    rng, misses, bent = np.random.default_rng(1), 0, 0
    for _ in range(300):
        law = jaxtheory.exponent(laws(rng).isel(p=0), "step")
        misses += not law.low <= -0.5 <= law.high
        bent += law.straight.item() is False
    assert misses / 300 <= 0.03 and bent / 300 <= 0.03  # four standard deviations above 0.01


def test_a_bent_law_is_not_straight():
    law = jaxtheory.exponent(laws(np.random.default_rng(2), curve=0.05), "step")
    assert law.straight.values.tolist() == [False, False]
    np.testing.assert_allclose(law.curvature, 2 * 0.05 * np.log(1000), rtol=0.2)


def test_between_and_steps_that_are_not_positive():
    data = laws(np.random.default_rng(0), spread=0.0).isel(p=0)
    zero = xr.concat([data.isel(step=[0]).assign_coords(step=[0.0]) * 1e9, data], "step")
    np.testing.assert_allclose(jaxtheory.exponent(zero, "step").exponent, -0.5)
    bent = data.where(data.step < 50, 1.0)
    assert float(jaxtheory.exponent(bent, "step", between=(1, 40)).exponent) == pytest.approx(-0.5)
    assert jaxtheory.exponent(bent, "step", between=(1, 40)).local.sizes["step"] == 3


def test_runs_without_a_value_and_a_single_run():
    data = laws(np.random.default_rng(0), spread=0.0).isel(p=0).copy()
    data[3] = np.nan
    np.testing.assert_allclose(jaxtheory.exponent(data, "step").exponent, -0.5)
    single = jaxtheory.exponent(data.isel(seed=0), "step")
    assert float(single.exponent) == pytest.approx(-0.5) and single.straight.item() is None
    assert np.isneginf([single.low, single.curvature_low]).all() and np.isposinf(single.high)
    assert (
        single.note == "No interval: one seed only." and jaxtheory.exponent(data, "step").note == ""
    )


def test_means_without_a_logarithm_have_no_exponent_and_a_note():
    data = laws(np.random.default_rng(0))
    law = jaxtheory.exponent(data - 0.5 * (data.p < 0.5), "step")
    assert np.isnan(law.exponent).values.tolist() == [True, False]
    assert np.isnan([law.low[0], law.curvature_high[0]]).all()
    assert law.straight.values.tolist() == [None, True]
    want = (
        "No exponent for 1 of 2 laws: the mean over seeds is not positive at 4 of 7 values of step."
    )
    assert law.note == want
    single = jaxtheory.exponent(-data.isel(p=0, seed=0), "step")
    assert single.note.startswith("No exponent: the mean")
    assert single.note.endswith("one seed only.")
    assert np.isnan(single.low) and single.straight.item() is None
    # positive on average, but not without the third run
    one = xr.where(data.seed == 3, 1.0, -0.1) * data.isel(p=0)
    open_ = jaxtheory.exponent(one.transpose("seed", "step"), "step")
    assert np.isfinite(open_.exponent) and np.isnan(open_.low) and open_.straight.item() is None


def test_a_drop_between_two_plateaus_is_not_straight_though_its_parabola_is():
    x = T / T[3]
    curve = (0.1 + x**2) / (1 + x**2)  # in logarithms odd around its middle
    odd = np.log(curve) - np.log(curve)[::-1].mean()
    runs = np.exp(odd - odd[::-1]) * np.random.default_rng(0).lognormal(0, 0.02, (8, 7))
    law = jaxtheory.exponent(xr.DataArray(runs, {"step": T}, ("seed", "step")), "step")
    assert law.curvature_low < 0 < law.curvature_high and law.straight.item() is False


def test_few_seeds_do_not_tell_whether_a_law_is_straight():
    rng = np.random.default_rng(0)
    decisions = [
        jaxtheory.exponent(laws(rng, n).isel(p=0), "step").straight.item()
        for n in (2, 8)
        for _ in range(10)
    ]
    assert decisions[:10].count(None) >= 9 and decisions[10:].count(True) >= 9


def test_equal_seeds_are_straight_up_to_rounding_alone():
    exact = laws(np.random.default_rng(0), spread=0.0)
    assert jaxtheory.exponent(exact, "step").straight.values.tolist() == [True, True]
    bent = exact * (1 + 1e-3 * np.log(exact.step) ** 2)
    assert jaxtheory.exponent(bent, "step").straight.values.tolist() == [False, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: jaxtheory.exponent(d.loss, "stpe"), "'stpe' is not a dimension; did you mean"),
        (lambda d: jaxtheory.exponent(d.loss, "step", between=(5, 6)), "0 positive values of step"),
        (lambda d: jaxtheory.exponent(d.loss, "rule"), "rule: its coordinate must hold numbers"),
        (lambda d: fitted_law(d.loss, "step"), "values: has the dimensions rule too"),
        (lambda d: fitted_law(d.loss, "stpe"), "'stpe' is not a dimension; did you mean"),
    ],
)
def test_mistakes_are_told_in_a_sentence(call, message):
    axes = {"step": T, "rule": ["a", "b"], "p": [0.3]}
    data = xr.Dataset({"loss": (("step", "rule", "p"), np.ones((7, 2, 1)))}, axes)
    with pytest.raises(InputError, match=message):
        call(data)


def test_a_fitted_law_with_its_interval_and_its_exponent_as_text():
    rng = np.random.default_rng(0)
    values = laws(rng).isel(p=0)
    law = jaxtheory.exponent(values, "step")
    number = lambda x: f"{float(x):.2f}".replace("-", "−")
    want = f"exponent {number(law.exponent)} [{number(law.low)}, {number(law.high)}]"
    fit = fitted_law(values, "step")
    assert fit.label == want
    slopes = [np.log(curve[-1] / curve[0]) / np.log(T[-1] / T[0]) for curve in fit[1:4]]
    np.testing.assert_allclose(slopes[0], law.exponent)
    middle = np.exp(np.log(values.mean("seed")).mean())
    np.testing.assert_allclose(np.exp(np.log(fit.y).mean()), middle)
    turned = np.exp(np.log(fit.x / fit.x[-1]) * float(law.high - law.exponent))
    np.testing.assert_allclose((fit.high / fit.y)[-1] * turned[0], (fit.low / fit.y)[0])
    exact = laws(rng, spread=0.0).isel(p=1)
    assert fitted_law(exact.isel(step=slice(2)), "step").label == "no exponent"
    zero = exact.where(exact.step > 1, 0.0)  # no logarithm
    assert (
        fitted_law(zero, "step").label == fitted_law(exact.isel(step=slice(1, None)), "step").label
    )


@pytest.mark.parametrize("spread", [0.3, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0])
def test_an_interval_of_width_zero_is_not_printed(spread):
    fit = fitted_law(laws(np.random.default_rng(3), spread=spread).isel(p=1), "step")
    ends = re.findall(r"\[(.*), (.*)\]", fit.label)
    assert len(ends) == (spread > 1e-5) and all(low != high for low, high in ends)
    assert np.isfinite(fit.low).all() == bool(ends) and fit.straight is True


def test_the_law_of_one_seed_has_no_interval():
    fit = fitted_law(laws(np.random.default_rng(0)).isel(p=1, seed=0), "step")
    assert re.fullmatch(r"exponent 1\.\d\d", fit.label) and fit.straight is None
    assert np.isnan(fit.low).all()


def test_a_bent_law_is_called_one():
    levels_off = (0.3 + laws(np.random.default_rng(0), spread=1e-3)).isel(p=0)
    fit = fitted_law(levels_off, "step")
    slope = float(jaxtheory.exponent(levels_off, "step").exponent)
    assert fit.label == f"bent, mean slope −{-slope:.2f}" and fit.straight is False
    assert np.isnan(fit.low).all() and np.isfinite(fit.y).all()
