"""Made-up results of causal_graph."""

import numpy as np
import xarray as xr

from sweeps.causal_graph import graph_margin

from . import Case

LEVELS = {
    "predicted_test_loss_uniform": 1.07,
    "predicted_test_loss_unigram": 1.09,
    "predicted_test_loss_bigram": 1.1,
    "predicted_test_loss_bayes": 0.8,
    "predicted_test_loss_entropy": 0.6,
}


def by_lag(values):
    """Entries by lag, zero beyond."""
    return xr.DataArray([*values, *np.zeros(8 - len(values))], dims="lag")


def parents(d, selection=1.0, attention=0.98, end=0.93):
    """Rows at the parent after stage one, and a loss that falls in stage two."""
    T, late = 8, d.step >= 100
    W = np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None]
    return LEVELS | {
        "parent_selected": xr.where(late, selection, 0.1),
        "parent_attention": xr.where(late, attention, 0.2),
        "test_loss": xr.where(d.step > 100, end, 1.06),
        "attention": xr.DataArray(W, dims=("token", "attended")),
        "parents": xr.DataArray(np.arange(T) * 1.0, dims="token"),
    }


def first_gradient(d, selected=1.0, information=0.85, overlap=0.97, second=-0.2):
    return {
        "gradient_selected": selected,
        "gradient_information": information,
        "gradient_overlap": overlap,
        "slopes": by_lag((-0.4, 1.0, second, 0.1)),
        "overlap_lags": by_lag((-0.3, 1.0, -0.3, 0.1)),
        "information_lags": by_lag((2.0, 1.0, 0.2, 0.1)),
    }


def phases(d, start=1.09, end=0.92, sharp=0.05, reverse=True, strength=3.0):
    """A fall at step 150 from a start to an end; small beta0 with a wrong sign in some runs."""
    t = d.step.astype(float)
    fall = 1 / (1 + np.exp(-(np.log(t + 1e-9) - np.log(150)) / sharp))
    wrong = (d.seed % 4 == 0) & (d.initial_strength < 0.05) & reverse
    return LEVELS | {
        "test_loss": start - (start - end) * fall,
        "parent_attention": 0.2 + 0.7 * fall,
        "strength": xr.where(wrong, -3.0, strength) * fall,
    }


def strength(d, most=2.0, lost=0.0, end=0.17):
    """Attention that falls through a half at a multiple of beta*, and rows at the parent."""
    star = d.length / (3 * d.concentration + 1)
    ratio, late = d.initial_strength / star, d.step > 1
    rows = xr.where(ratio > 4, end, xr.where(late, 0.9 - lost, 0.9))
    return {"parent_attention": 1 / (1 + (ratio / most) ** 2), "parent_selected": rows}


def sticky(d, at=0.19, own=0.95, selected=1.0):
    """Rows that turn to the own token from a stickiness on, with a correction of order 1/T."""
    turn = at + 1.0 / d.length
    return {
        "gradient_selected": 1 / (1 + np.exp((d.stickiness - turn) / 0.02)),
        "parent_selected": xr.where(d.stickiness > 0.1, 1 - own, selected),
        "lags": xr.where(d.stickiness > 0.4, by_lag((own,)), by_lag((0.1, 0.8))),
    }


def lengths(d, power=-1.5, first=0.12):
    """A loss that nears that of the posterior mean as a power of T."""
    excess = first * (d.length / 16.0) ** power
    return LEVELS | {"test_loss": 0.8 + excess}


def margin(d, joint=0.9, large=0.8, ratio=1.0, wrong=-1):
    """Cosines and gaps; 1 - cosine is `ratio` times the law, and some gaps are negative with a
    trained A2 (wrong = -1) or a fixed one.
    """
    T, late = 8, d.step >= 100
    i, j = np.arange(T)[:, None], np.arange(T)[None, :]
    used = (j <= i) & (j != i - 1) & (i > 0) & (i < T - 1)
    spread = xr.DataArray(used * (1.0 + i + 2 * j), dims=("token", "attended"))
    trained = d.training == graph_margin.JOINT
    sign = xr.where(trained == (wrong < 0), -1, 1)
    first = xr.DataArray(used & (j == 0), dims=("token", "attended"))
    gaps = 0.004 * spread * xr.where(late & first, sign, 1)
    law = graph_margin.law(d.assign(gaps=gaps))
    cosine = xr.where(d.training == graph_margin.FIXED, 1 - ratio * (1 - law), large)
    return {"direction": xr.where(trained, xr.where(late, joint, 0.97), cosine), "gaps": gaps}


def excluded(d):
    """All runs diverged."""
    names = "parent_selected parent_attention test_loss strength lags slopes gradient_selected"
    more = "gradient_information gradient_overlap information_lags overlap_lags"
    return dict.fromkeys([*names.split(), *more.split(), *LEVELS], np.nan)


CASES = {
    "parents found": Case("graph_parents", parents, "1 2 4", drawn=True),
    "parents missed, loss solved": Case("graph_parents", lambda d: parents(d, 0.9, 0.8, 0.81), ""),
    "the overlap": Case("graph_first_gradient", first_gradient, "5 7 8", drawn=True),
    "the information": Case(
        "graph_first_gradient", lambda d: first_gradient(d, 0.9, 0.99, 0.6, 0.2), ""
    ),
    "from unigrams, late": Case("graph_phases", phases, "10 13 14 19", drawn=True),
    "from uniform, slow": Case(
        "graph_phases", lambda d: phases(d, 1.07, 0.81, 1.0, False, 1.0), "13"
    ),
    "above the counts": Case("graph_phases", lambda d: phases(d, 1.2, 1.15, 0.05), "14 19"),
    "up to a strength": Case("graph_strength", strength, "33 34 35", drawn=True),
    "up to a large strength": Case("graph_strength", lambda d: strength(d, 6.0, 0.3, 0.9), ""),
    "own tokens": Case("graph_sticky", sticky, "30 31 32", drawn=True),
    "parents of sticky chains": Case("graph_sticky", lambda d: sticky(d, 0.3, 0.1, 0.9), ""),
    "solved in long prompts": Case("graph_lengths", lengths, "26 27 28 29", drawn=True),
    "not solved": Case("graph_lengths", lambda d: lengths(d, 0.2), ""),
    "fixed layers go to the max margin": Case(
        "graph_margin", margin, "20 21 22 23 24 25", drawn=True
    ),
    "trained ones do": Case("graph_margin", lambda d: margin(d, 0.97, 0.99, 9.0, 1), ""),
}
