"""Made-up results of task_diversity."""

import numpy as np
import xarray as xr

from . import Case


def laws(published, equivalent, best=0.1, bayes=0.05):
    names = {"published": published, "equivalent": equivalent, "best": best, "bayes": bayes}
    return {f"predicted_icl_error_{name}": value for name, value in names.items()}


def double_descent(d, valley=0.7, end=0.3, peak=50.0, at=156, published=0.7, equivalent=1.05):
    """A valley, a peak and a lower end."""
    n = d.num_prompts
    error = xr.where(n < 20, 1.0, xr.where(n < 100, valley, xr.where(n > 400, end, 0.9)))
    error = xr.where(n == at, peak, error)
    return {"icl_error": error, "idg_error": error / 2} | laws(
        error * published, error * equivalent
    )


def dimension(d, power=1.3, c=10.0, part=0.5):
    """Gaps c / d^power to the limit, of which a part is left at finite d."""
    gap = c * d.dimension.astype(float) ** -power
    errors = {"icl_error": 1 + gap, "idg_error": 1 + gap, "predicted_idg_error_limit": 1.0}
    return errors | laws(1.0, (1 + gap) / (1 + part * gap))


def transition(d, slope=1.3, excess=0.01, low=0.15, two_tasks=2.0, equivalent=1.02, high=0.95):
    """A fall by `slope` per unit of kappa up to 1, and little after that."""
    kappa = d.num_tasks / 12.0
    error = 0.2 + slope * np.maximum(0, 1 - kappa) + excess * np.maximum(0, 8 - kappa)
    trained = error * xr.where(kappa > 3, high, low)
    law = {"predicted_idg_error_equivalent": trained / equivalent}
    return (
        {"icl_error": error, "idg_error": trained}
        | law
        | laws(
            xr.where(d.num_tasks == 2, error / two_tasks, error),
            error / equivalent,
            bayes=0.05 + (high < 0.9),
        )
    )


def stopping(d, best=0.8, end=30.0, off_path=1.02):
    """A fall to the best step, 1000, and a rise at the peak."""
    t = d.step.astype(float) + 1e-9
    fall = np.minimum(np.log10(t + 1) / 3, 1)
    at_peak = xr.where(d.num_prompts == 156, best, 0.8)
    late = np.maximum(np.log10(t / 1000), 0) * xr.where(d.num_prompts == 156, end, 0.1)
    error = 1 - (1 - at_peak) * fall + late
    law = {"predicted_icl_error_stopped": error}
    return {"icl_error": error * xr.where(d.algorithm == "path", 1, off_path)} | law


def dropped(d, fitted=1.5, without=1.02, short=1.4, short_without=1.2, trained=1.1):
    """Errors over Result 1 of both fits, and the gain of one on training tasks."""
    both, few = d.algorithm == "ridge", d.setting.str.startswith("k")
    error = xr.where(few, xr.where(both, fitted, without), xr.where(both, short, short_without))
    return {"icl_error": error, "idg_error": xr.where(both, 1.0, trained)} | laws(1.0, 1.0)


def context(d, rise=1.3, fall=0.7, known=0.1):
    """An error on fresh tasks that is least at length 48, and one on training tasks that falls."""
    doublings = np.log2(d.length / 6.0)
    errors = {
        "icl_error": 1.5 * rise ** np.abs(doublings - 3),
        "idg_error": 1.5 * fall**doublings,
        "posterior_mean": known,
    }
    limits = {f"predicted_{name}_limit": errors[name] for name in ("icl_error", "idg_error")}
    return errors | limits


def excluded(d):
    """All runs diverged."""
    names = "icl_error idg_error predicted_icl_error_stopped".split()
    return dict.fromkeys([*names, *laws(1, 1)], np.nan)


CASES = {
    "double descent": Case("diversity_double_descent", double_descent, "1 2 3 4 5 19", drawn=True),
    "no valley": Case(
        "diversity_double_descent",
        lambda d: double_descent(d, 1.2, 1.3, 1.5, 130, 1.1, 1.5),
        "20",
    ),
    "1/d": Case("diversity_dimension", dimension, "6 7 8 22", drawn=True),
    "slower": Case("diversity_dimension", lambda d: dimension(d, 0.3, 0.1, 0.9), ""),
    "transition": Case(
        "diversity_transition", transition, "9 10 12 13 14 15 21 23 24 25 26", drawn=True
    ),
    "none": Case(
        "diversity_transition", lambda d: transition(d, 0.1, 0.1, 0.9, 1.0, 1.3), "10 13 25"
    ),
    "never": Case(
        "diversity_transition", lambda d: transition(d, high=0.5), "9 12 14 15 21 23 24 26"
    ),
    "one weight": Case("diversity_dropped_weight", dropped, "27 28 29 30 31 32", drawn=True),
    "another cause": Case(
        "diversity_dropped_weight", lambda d: dropped(d, 1.0, 1.3, 1.2, 1.3, 0.9), ""
    ),
    "a length": Case("diversity_context", context, "33 34 35", drawn=True),
    "by heart": Case("diversity_context", lambda d: context(d, 0.9, 1.1, 1.0), ""),
    "stopped": Case("diversity_stopping", stopping, "16 17 18", drawn=True),
    "a peak all the time": Case("diversity_stopping", lambda d: stopping(d, 2.0, 0.0, 1.3), ""),
}
