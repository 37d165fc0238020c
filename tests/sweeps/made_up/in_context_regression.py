"""Made-up results of in_context_regression."""

import numpy as np
import xarray as xr

from . import Case

LEVELS = np.array([1.0, 0.6405797, 0.37737215, 0.2098046, 0.13599509])


def stairs(t, times, width):
    """A loss that falls from level to level at these times."""
    gains = -np.diff(LEVELS)[: len(times)]
    falls = [g / (1 + np.exp(-(t - at) / (width * at))) for g, at in zip(gains, times, strict=True)]
    return 1 - sum(falls)


def components(t, times, width):
    curves = [1 / (1 + np.exp(-(t - at) / (width * at))) for at in times]
    return xr.concat(curves, "component")


def staircase(d, width=0.02, times=(100, 400, 2000, 10000), merged=(50,)):
    t = d.step.astype(float)
    one = 1 - 0.864 / (1 + np.exp(-(t - merged[0]) / 5))
    for at in merged[1:]:
        one = one - 0.05 / (1 + np.exp(-(t - at) / (0.02 * at)))
    return {
        "loss": xr.where(d.form == "merged", one, stairs(t, times, width)),
        "components": components(t, times, width),
    }


def time_course(d, power=1.0, size=0.005):
    return {
        "loss": 0.5 + size * (d.learning_rate / 0.005) ** power,
        "predicted_loss_logistic": 0.5,
    }


def heads(d, exact=True, every=3, at_end=4.0):
    """One run in `every` with H = 4 lacks a component at the first record."""
    place = np.minimum(d.heads, 4)
    loss = xr.DataArray(LEVELS[place.values], {"heads": d.heads}, ["heads"])
    early = place - ((d.heads == 4) & (d.seed % every == 0))
    learned = xr.where(d.step == d.step[1], early, xr.where(d.heads > 4, at_end, place))
    return {"loss": loss + (0 if exact else 0.01), "learned": learned}


def ranks(d, full=3, first=8):
    """As many drops as a rank is given."""
    t = d.step.astype(float)
    falls = lambda n: sum(
        -0.1 / (1 + np.exp(-(t - at) / (0.02 * at))) for at in np.geomspace(100, 20000, n)
    )
    return {"loss": 1 + xr.where(d["rank"] == 1, falls(first), falls(full))}


def escape(d, power=-1.0, factor=1.0):
    t = d.step.astype(float)
    fold = 1 / (0.2 * np.sqrt(0.4**4 + 0.3**4 + 0.2**4 + 0.1**4))
    separate = 40 * d.initial_scale**power
    merged = 20 + factor * fold * np.log(1 / d.initial_scale)
    at = xr.where(d.form == "separate", separate, merged)
    return {"loss": xr.where(t < at, 1.0, 0.3)}


def minimum(d, plain=0.0, mixed=0.0):
    off = xr.where(d.in_weight_share == 0, plain, mixed)
    return {"excess": off, "predicted_loss_minimum": 1.0, "loss": 1 + off, "off_diagonal": 0.1}


def samples(d, end=-1.0, pause=-1.0):
    t = d.step.astype(float)
    above = 2.0 * d.num_prompts.astype(float) ** pause
    loss = stairs(t, (300, 600, 2000, 20000), 0.02) + above * (t > 2100)
    return {"loss": loss, "excess": 4.5 * d.num_prompts.astype(float) ** end}


def drop_times(d, factor=lambda sigma: 1 + 3 * sigma):
    """Aligned heads, one per component, whose times are known; runs are `factor` later."""
    spectrum, sigma = np.array([0.4, 0.3, 0.2, 0.1]), d.initial_scale
    half = np.cbrt(0.5 / (spectrum + (spectrum + 1) / 31))  # the size at half of a_d
    steps = [
        factor(sigma) * (1 / sigma - 1 / x) / lam**2 for lam, x in zip(spectrum, half, strict=True)
    ]
    one = xr.DataArray(np.eye(4), dims=("head", "component"))
    t = d.step.astype(float)
    return {
        "v": sigma * xr.DataArray(np.ones(4), dims="head"),
        "k": sigma * one,
        "q": sigma * one,
        "components": components(t, steps, 0.02),
    }


def fixed_points(d, separate=lambda size: 2**size, merged=2, distance=0.0, gap=0.0):
    return {
        "found": xr.where(d.form == "merged", merged, separate(d.dimension)),
        "distance": distance,
        "gap": gap,
        "losses": xr.DataArray(np.linspace(0.1, 1.0, 300), dims="run"),
    }


def shifts(d, plain=-0.9, moved=0.0, queries=1.5, factor=1.0):
    """Powers of N in the error, for tolerated shifts and for those of covariates."""
    n, covariates = d.length.astype(float), d["shift"].str.startswith("covariates")
    rest = xr.where(d["shift"] == "queries", queries, 1.0) * 2 * n**plain
    error = xr.where(covariates, 0.5 * n**moved, rest)
    return {"error": factor * error, "predicted_error_law": error}


def in_weight(d, first=1.0, then=0.1, end=0.3, slow=1.0, fixed=0.04, fresh=1.2, mixed=1.0):
    """A shared task that is learned first; `slow` times the wait that the law says."""
    t, share = d.step.astype(float), d.in_weight_share
    wait = 10 + slow * 8 * np.log(1e-3 / d.initial_scale)
    fallen = 1 / (1 + np.exp(-(t - wait)))
    own = 1 - 0.92 * fallen - (0.08 - fixed) * (t > 3000)
    others = xr.where(t < 300, first, xr.where(t < 3000, then, end))
    return {
        "train": 1 - 0.8 * fallen,
        "fixed": own,
        "negative": others,
        "fresh": xr.where(share == 1, fresh, others),
        "predicted_e_fold_law": 8.0,
        "predicted_negative_mixture": mixed,
        "predicted_fixed_merged": 0.1,
    }


def excluded(d):
    """All runs diverged."""
    names = "loss components learned excess off_diagonal predicted_loss_logistic"
    return dict.fromkeys([*names.split(), "predicted_loss_minimum"], np.nan)


CASES = {
    "a staircase and a drop": Case("regression_staircase", staircase, "1 2 4 5"),
    "ramps": Case(
        "regression_staircase",
        lambda d: staircase(d, 0.8, (200, 300, 400, 500), merged=(50, 2000)),
        "",
    ),
    "the time course": Case("regression_time_course", time_course, "3 6", drawn=True),
    "another one": Case("regression_time_course", lambda d: time_course(d, 0.5, 0.05), ""),
    "heads as measured": Case("regression_heads", heads, "9 10 11", drawn=True),
    "heads that miss": Case("regression_heads", lambda d: heads(d, False, 8, 3.0), ""),
    "steps by rank": Case("regression_ranks", ranks, "12 13", drawn=True),
    "one drop at any rank": Case("regression_ranks", lambda d: ranks(d, 1, 1), ""),
    "times at the start": Case("regression_escape", escape, "14 15"),
    "other times": Case("regression_escape", lambda d: escape(d, -0.5, 2.0), ""),
    "the minimum": Case("regression_minimum", minimum, "16 17", drawn=True),
    "no minimum": Case("regression_minimum", lambda d: minimum(d, 0.1, 0.1), ""),
    "times of the scalar equations": Case("regression_drop_times", drop_times, "18 19 20"),
    "other drops": Case("regression_drop_times", lambda d: drop_times(d, lambda s: 1.5), ""),
    "fixed points": Case("regression_fixed_points", fixed_points, "21 22 23 24", drawn=True),
    "other fixed points": Case(
        "regression_fixed_points", lambda d: fixed_points(d, lambda n: n, 3, 0.1, 0.1), ""
    ),
    "a shared task": Case("regression_in_weight", in_weight, "30 31 32 33 34 35 36", drawn=True),
    "a shared task among others": Case(
        "regression_in_weight",
        lambda d: in_weight(d, 0.5, 0.4, 0.4, 2.0, 0.09, 0.3, 2.0),
        "",
    ),
    "shifted covariates": Case("regression_shifts", shifts, "25 26 27 28 29", drawn=True),
    "all shifts alike": Case("regression_shifts", lambda d: shifts(d, -0.5, -0.5, 3.0, 1.5), ""),
    "one over P": Case("regression_samples", samples, "7 8"),
    "one over root P": Case("regression_samples", lambda d: samples(d, -0.5, -0.5), ""),
}
