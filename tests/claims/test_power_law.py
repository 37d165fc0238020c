"""Exponents and collapses are those of made-up laws, and their intervals cover them."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError
from jaxtheory.claims import fitted_law
from jaxtheory.claims.power_law import pseudo_values

T = np.geomspace(1, 1000, 7)


def laws(rng, n=8, spread=0.1, curve=0.0):
    """Runs of 2 t^-0.5 (p = 0) and t^1.5 (p = 1), each times a factor of its own and noise."""
    shape = np.stack([2 * T**-0.5, T**1.5]) * np.exp(curve * np.log(T) ** 2)
    factor = rng.lognormal(0, spread, (n, 2, 1)) * rng.lognormal(0, spread / 3, (n, 2, len(T)))
    coords = {"p": [0.3, 0.7], "step": T}
    return xr.DataArray(shape * factor, coords, ("seed", "p", "step"))


def test_the_exponent_of_a_law():
    found = jaxtheory.exponent(laws(np.random.default_rng(0), spread=0.0), "step")
    np.testing.assert_allclose(found.exponent, [-0.5, 1.5], atol=1e-12)
    np.testing.assert_allclose(found.local, np.array([[-0.5], [1.5]]) * np.ones(6), atol=1e-12)
    np.testing.assert_allclose(found.local.step, np.sqrt(T[1:] * T[:-1]))
    np.testing.assert_allclose(found.curvature, 0, atol=1e-11)
    assert found.p.values.tolist() == [0.3, 0.7] and found.straight.dtype == bool


def test_intervals_cover_the_exponent_and_the_straightness():
    rng, misses, bent = np.random.default_rng(1), 0, 0
    for _ in range(300):
        found = jaxtheory.exponent(laws(rng).isel(p=0), "step")
        misses += not found.low <= -0.5 <= found.high
        bent += not bool(found.straight)
    assert misses / 300 <= 0.03 and bent / 300 <= 0.03  # four standard deviations above 0.01


def test_a_bent_law_is_not_straight():
    found = jaxtheory.exponent(laws(np.random.default_rng(2), curve=0.05), "step")
    assert not found.straight.any()
    np.testing.assert_allclose(found.curvature, 2 * 0.05 * np.log(1000), rtol=0.2)


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
    alone = jaxtheory.exponent(data.isel(seed=0), "step")
    assert float(alone.exponent) == pytest.approx(-0.5) and np.isnan(alone.low)
    assert np.isnan(jaxtheory.exponent(data - 10, "step").exponent)  # no logarithm


@pytest.mark.parametrize(("a", "b"), [(2.0, 0.5), (-1.0, 0.0), (0.0, 3.0), (0.7, -1.2)])
def test_the_exponents_of_a_collapse(a, b):
    rng, k = np.random.default_rng(3), np.array([2.0, 4.0, 8.0])
    curves = k[:, None] ** b / (1 + (T / k[:, None] ** a) ** 0.8)
    noise = rng.lognormal(0, 0.02, (8, 3, 1))
    data = xr.Dataset({"loss": (("seed", "K", "step"), curves * noise)}, {"K": k, "step": T})
    found = jaxtheory.collapse(data, "step", "loss", "K")
    assert float(found.x_exponent) == pytest.approx(a, abs=0.1)
    assert float(found.y_exponent) == pytest.approx(b, abs=0.1) and found.residual < 0.05
    for name, true in (("x_exponent", a), ("y_exponent", b)):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
        assert abs(float(found[name]) - true) <= float(found[f"{name}_high"] - found[f"{name}_low"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda d: jaxtheory.exponent(d.loss, "stpe"), "'stpe' is not a dimension; did you mean"),
        (lambda d: jaxtheory.exponent(d.loss, "step", between=(5, 6)), "0 positive values of step"),
        (lambda d: jaxtheory.exponent(d.loss, "rule"), "rule: its coordinate must hold numbers"),
        (lambda d: jaxtheory.collapse(d, "step", "lss", "rule"), "y = 'lss': not a variable"),
        (lambda d: jaxtheory.collapse(d, "step", "loss", "p"), "dimensions rule too; select one"),
        (lambda d: fitted_law(d.loss, "step"), "values: has the dimensions rule too"),
        (lambda d: fitted_law(d.loss, "stpe"), "'stpe' is not a dimension; did you mean"),
    ],
)
def test_mistakes_are_told_in_a_sentence(call, said):
    axes = {"step": T, "rule": ["a", "b"], "p": [0.3]}
    data = xr.Dataset({"loss": (("step", "rule", "p"), np.ones((7, 2, 1)))}, axes)
    with pytest.raises(InputError, match=said):
        call(data)


def test_pseudo_values_of_a_mean_are_the_runs():
    runs = np.random.default_rng(0).normal(size=9)
    whole, pseudo = pseudo_values(lambda seeds: runs[seeds].mean(), 9)
    np.testing.assert_allclose(pseudo, runs, atol=1e-12)
    assert whole == pytest.approx(runs.mean())


def test_a_fitted_law_with_its_interval_and_its_exponent_as_text():
    rng = np.random.default_rng(0)
    values = laws(rng).isel(p=0)
    law = jaxtheory.exponent(values, "step")
    number = lambda x: f"{float(x):.2f}".replace("-", "−")
    want = f"exponent {number(law.exponent)} [{number(law.low)}, {number(law.high)}]"
    found = fitted_law(values, "step")
    assert found.label == want
    slopes = [np.log(curve[-1] / curve[0]) / np.log(T[-1] / T[0]) for curve in found[1:4]]
    np.testing.assert_allclose(slopes[0], law.exponent)
    middle = np.exp(np.log(values.mean("seed")).mean())
    np.testing.assert_allclose(np.exp(np.log(found.y).mean()), middle)
    turned = np.exp(np.log(found.x / found.x[-1]) * float(law.high - law.exponent))
    np.testing.assert_allclose((found.high / found.y)[-1] * turned[0], (found.low / found.y)[0])
    exact = laws(rng, spread=0.0).isel(p=1)
    assert fitted_law(exact, "step").label == "exponent 1.500 [1.500, 1.500]"
    assert fitted_law(exact.isel(seed=0), "step").label == "exponent 1.50"
    assert fitted_law(exact.isel(step=slice(2)), "step").label == "no exponent"
    zero = exact.where(exact.step > 1, 0.0)  # no logarithm
    assert (
        fitted_law(zero, "step").label == fitted_law(exact.isel(step=slice(1, None)), "step").label
    )
