"""Exponents of curves that collapse exactly, with the intervals that cover them; and of others."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError

T, K = np.geomspace(1, 1000, 16), np.array([2.0, 4.0, 8.0])
SHAPES = {
    "plateaus": lambda s: 0.1 + 0.9 / (1 + s**2),
    "steep": lambda s: 0.1 + 0.9 / (1 + s**4),
    "stairs": lambda s: 0.02 + 0.5 / (1 + s**3) + 0.48 / (1 + (s / 6) ** 4),
    "bend": lambda s: 1 / (1 + s**0.8),
    "power": lambda s: s**-0.5,
}


def collapsed(y, t=T, k=K):
    data = xr.Dataset({"loss": (("seed", "K", "step"), y)}, {"K": k, "step": t})
    return jaxtheory.collapse(data, "step", "loss", "K")


def curves(shape, a, b, rng=None, n=8, spread=0.03, t=T, k=K):
    """n runs of k^b shape(t / k^a), each curve with a factor of its own and noise."""
    y = k[:, None] ** b * SHAPES[shape](t / k[:, None] ** a)
    if rng is None:
        return np.stack([y] * n)
    return y * rng.lognormal(0, spread, (n, len(k), 1)) * rng.lognormal(0, spread, (n, *y.shape))


def covers(fit, a, b):
    ends = [(float(fit[f"{n}_exponent_low"]), float(fit[f"{n}_exponent_high"])) for n in "xy"]
    return all(low <= true <= high for (low, high), true in zip(ends, (a, b), strict=True))


@pytest.mark.parametrize(("a", "b"), [(2.0, 0.5), (-1.0, 0.0), (0.0, 3.0), (0.7, -1.2)])
def test_the_exponents_of_bent_curves(a, b):
    collapse = collapsed(curves("bend", a, b, np.random.default_rng(3), spread=0.01))
    assert float(collapse.x_exponent) == pytest.approx(a, abs=0.1)
    assert float(collapse.y_exponent) == pytest.approx(b, abs=0.1)
    assert collapse.residual < 0.02 and collapse.fits.item() is True and collapse.note == ""
    assert covers(collapse, a, b) and collapse.x_exponent_high - collapse.x_exponent_low < 1


@pytest.mark.parametrize("shape", ["plateaus", "steep", "stairs"])
@pytest.mark.parametrize("noisy", [False, True])
def test_a_drop_between_plateaus(shape, noisy):
    # the very curves of this library, with as few points as one per factor of 1.6
    collapse = collapsed(curves(shape, 1.0, 0.5, np.random.default_rng(0) if noisy else None))
    assert collapse.fits.item() is True and covers(collapse, 1.0, 0.5)
    assert collapse.x_exponent_high - collapse.x_exponent_low < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "a", "b", "n", "k"),
    [
        ("plateaus", 1.0, 0.5, 8, K),
        ("steep", 0.8, -0.3, 4, K),
        ("stairs", 1.0, 0.0, 8, K[:2]),
        ("bend", 2.0, 0.5, 8, K),
    ],
)
def test_intervals_cover_the_exponents(shape, a, b, n, k):
    rng, missed, unfit = np.random.default_rng(5), 0, 0
    for _ in range(125):
        collapse = collapsed(curves(shape, a, b, rng, n, k=k), k=k)
        missed += not covers(collapse, a, b)
        unfit += collapse.fits.item() is not True
    assert missed <= 4 and unfit <= 4  # of 125, at nominal 99 %


@pytest.mark.parametrize("sizes", [K, K[:2]])
@pytest.mark.parametrize(
    "curve",
    [
        lambda t, k: t ** (-k / 8),
        lambda t, k: 1 / (1 + (t / k) ** 2) + 0.02 * k,
        lambda t, k: 0.1 + k / (1 + (t / 10) ** 2),
        lambda t, k: 0.1 + 0.9 / (1 + (t / 20) ** k),
    ],
    ids=["slopes", "plateaus", "heights", "steepness"],
)
def test_curves_that_do_not_collapse_have_no_interval(curve, sizes):
    rng = np.random.default_rng(0)
    runs = curve(T, sizes[:, None]) * rng.lognormal(0, 0.02, (8, len(sizes), 1))
    collapse = collapsed(runs * rng.lognormal(0, 0.02, (8, 1, len(T))), k=sizes)
    assert collapse.fits.item() is False and "do not collapse" in collapse.note
    assert np.isnan(collapse.x_exponent_low) and np.isnan(collapse.y_exponent_high)
    assert np.isfinite(collapse.x_exponent)


def test_curves_whose_drop_was_not_recorded_are_undecided():
    rng, decisions = np.random.default_rng(1), []
    for _ in range(12):
        collapse = collapsed(curves("steep", -1.0, 0.5, rng))
        decisions.append(collapse.fits.item())
        assert covers(collapse, -1.0, 0.5)
    assert False not in decisions


def test_a_single_seed_tells_nothing_about_noise():
    for runs in (curves("steep", 1.0, 0.5, n=1), curves("power", 1.0, 0.5, n=1) + 1):
        collapse = collapsed(runs)
        assert collapse.fits.item() is None and collapse.note == "No interval: one seed only."
        assert np.isneginf(collapse.x_exponent_low) and np.isposinf(collapse.y_exponent_high)
    data = xr.Dataset({"loss": (("K", "step"), curves("steep", 1.0, 0.5)[0])}, {"K": K, "step": T})
    same = jaxtheory.collapse(data, "step", "loss", "K")
    assert float(same.x_exponent) == pytest.approx(1, abs=0.05) and same.fits.item() is None


def test_straight_curves_leave_the_exponents_open():
    rng, closed = np.random.default_rng(2), 0
    for _ in range(12):
        collapse = collapsed(curves("power", 1.0, 0.5, rng))
        closed += not (np.isinf(collapse.x_exponent_low) or collapse.fits.item() is False)
    assert closed <= 1
    assert "very different exponents fit" in collapse.note
    flat = collapsed(np.ones((8, 3, 16)))
    assert np.isnan(flat.x_exponent) and flat.fits.item() is None and "do not vary" in flat.note


def test_points_without_a_logarithm_are_left_out_and_x_may_be_in_any_order():
    y = curves("plateaus", 1.0, 0.5, np.random.default_rng(0))
    want = collapsed(y)
    zero = np.concatenate([np.full((8, 3, 1), 7.0), y], -1)
    xr.testing.assert_identical(collapsed(zero, np.append(0.0, T)), want)
    xr.testing.assert_identical(collapsed(y[..., ::-1], T[::-1]), want)
    lost = y.copy()
    lost[:, 1, 3], lost[4, 2] = -1.0, np.nan
    assert covers(collapsed(lost), 1.0, 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: (d, "step", "lss", "K"), "y = 'lss': not a variable"),
        (lambda d: (d, "stpe", "loss", "K"), "'stpe' is not a dimension; did you mean"),
        (lambda d: (d.expand_dims(p=[1, 2]), "step", "loss", "K"), "dimensions p too; select one"),
        (lambda d: (d.isel(K=[0]), "step", "loss", "K"), "one curve only"),
        (lambda d: (d.assign_coords(K=[0, 1, 2]), "step", "loss", "K"), "must be positive and dif"),
        (lambda d: (d.assign_coords(K=[1, 1, 2]), "step", "loss", "K"), "must be positive and dif"),
        (lambda d: (d.assign_coords(step=T.round(-2)), "step", "loss", "K"), "has equal values"),
        (lambda d: (d.where(d.K != 4), "step", "loss", "K"), "0 positive means at K = 4, and a"),
    ],
)
def test_mistakes_are_told_in_a_sentence(change, message):
    data = xr.Dataset({"loss": (("K", "step"), curves("bend", 1, 1)[0])}, {"K": K, "step": T})
    with pytest.raises(InputError, match=message):
        jaxtheory.collapse(*change(data))
