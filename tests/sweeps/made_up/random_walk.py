"""Made-up results of random_walk."""

import numpy as np
import xarray as xr

from . import Case

K, N, P, DELTA = "num_states", "length", "clockwise_probability", "perturbation"
V = "value_direction_error"


def odds(d):
    return d[P] / (1 - d[P])


def optimum(d):
    return abs(d[P] - 0.5) + 0.5


def full_turns(d):
    return (d[N] - 1) % d[K] == 0


def spread(d, factor):
    return (d[DELTA] * factor**d.step).clip(0, 1)


def power_law(d, exponent):
    return dict.fromkeys((V, f"{V}_sqrt", "output_error"), (d.step + 1e-9) ** exponent) | {
        "selected_lag": 1.0
    }


CASES = {
    "circles as in the sources": Case(
        "walk_circles",
        lambda d: {
            "accuracy": xr.where(d[P] == 1, 1 / d[K], 0.5),
            "parent_attention": xr.where(d.step < 4, 0.1, 1.0),
            "selected_lag": 1.0,
            V: xr.where(d[K] == 6, 0.18, 0.14),
            "loss": -1.065,
            "kl": 0.22,
            "attention_spread": 0.0,
        },
        "1 2 3 4 5 6 7 8",
    ),
    "circles not learned at p = 1/2, learned at 1": Case(
        "walk_circles",
        lambda d: {
            "accuracy": d[P] * 0.9,
            "parent_attention": 0.99,
            "selected_lag": 1.0,
            V: 0.5,
            "loss": -1.0,
            "kl": 1.0,
            "attention_spread": 1e-3,
        },
        "",
    ),
    "failure": Case(
        "walk_failure",
        lambda d: {"accuracy": xr.where(full_turns(d), 1 / d[K], 1.0), "attention_spread": 0.0},
        "9 10",
    ),
    "failure, symmetry lost": Case(
        "walk_failure",
        lambda d: {"accuracy": xr.where(full_turns(d), 1 / d[K], 1.0), "attention_spread": 1e-9},
        "10",
    ),
    "failure everywhere": Case(
        "walk_failure", lambda d: {"accuracy": 1 / d[K], "attention_spread": 0.0}, "9"
    ),
    "sqrt law": Case(
        "walk_direction",
        lambda d: {
            "value_ratio": odds(d) ** 0.5,
            "selected_lag": 1.0,
            "parent_attention": 1.0,
            "accuracy": optimum(d),
        },
        "12 13 14",
    ),
    "theorem": Case(
        "walk_direction",
        lambda d: {
            "value_ratio": odds(d),
            "selected_lag": 1.0,
            "parent_attention": 0.9,
            "accuracy": 1 - optimum(d),
        },
        "11",
    ),
    "rate -1/2": Case("walk_rate", lambda d: power_law(d, -0.5), "15 16 17 18 19"),
    "rate -1/4": Case("walk_rate", lambda d: power_law(d, -0.25), ""),
    "parent selected but for K = 4": Case(
        "walk_phase",
        lambda d: {"selected_lag": xr.where(d[K] == 4, 3.0, 1.0), "accuracy": optimum(d)},
        "20 21 22 23",
    ),
    "parent selected by three seeds in four": Case(
        "walk_phase",
        lambda d: {"selected_lag": xr.where(d.seed % 4 == 0, 3.0, 1.0), "accuracy": optimum(d)},
        "",
    ),
    "sharp in N": Case(
        "walk_lengths",
        lambda d: {"selected_lag": 1.0, "stray_attention": np.exp(-2.0 * d[N])},
        "24 25 26 27",
    ),
    "blunt in N": Case(
        "walk_lengths",
        lambda d: {
            "selected_lag": xr.where(d.seed % 4 == 0, 3.0, 1.0),
            "stray_attention": np.exp(-100.0 / d[N]),
        },
        "",
    ),
    "escape as predicted": Case(
        "walk_escape",
        lambda d: {
            "accuracy": 1.0,
            "attention_spread": spread(d, 20.0),
            "predicted_attention_spread_linear": spread(d, 20.0),
        },
        "28 29 30",
    ),
    "escape too slow": Case(
        "walk_escape",
        lambda d: {
            "accuracy": 1 / 6,
            "attention_spread": spread(d, 5.0),
            "predicted_attention_spread_linear": spread(d, 20.0),
        },
        "",
    ),
    "random starts learn": Case(
        "walk_random_start",
        lambda d: {"accuracy": optimum(d), "parent_attention": 1.0},
        "31 32 33 34 36 37",
    ),
    "random starts do not learn": Case(
        "walk_random_start", lambda d: {"accuracy": 1 / 6, "parent_attention": 0.01}, "35"
    ),
    "questions": Case(
        "walk_questions",
        lambda d: {
            "accuracy": xr.where(d.task == "qa1", 1.0, 0.5),
            "kl": xr.where(d.task == "qa1", 0.6, 0.7),
        },
        "38 39 40 41",
    ),
    "questions the other way round": Case(
        "walk_questions",
        lambda d: {
            "accuracy": xr.where(d.task == "qa2", 1.0, 0.5),
            "kl": xr.where(d.task == "qa2", 0.6, 0.7),
        },
        "",
    ),
}
