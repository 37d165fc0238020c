"""Made-up results of random_walk."""

import numpy as np
import xarray as xr

from . import Case, boundary_data

K, N, M, P = "num_states", "length", "encoding_dim", "clockwise_probability"
DELTA = "perturbation"
V = "value_direction_error"


def odds(d):
    return d[P] / (1 - d[P])


def optimum(d):
    return abs(d[P] - 0.5) + 0.5


def full_turns(d):
    return (d[N] - 1) % d[K] == 0


def spread(d, factor):
    return (d[DELTA] * factor**d.step).clip(0, 1)


def power_law(d, exponent, gap=0.0):
    """Errors that fall by an exponent; the output's gap does, too, down to a limit."""
    law = (d.step + 1e-9) ** exponent
    return dict.fromkeys((V, f"{V}_sqrt", "output_error"), law) | {
        "selected_lag": 1.0,
        "output_gap": gap + (0.1 if gap else 1) * law,
        "predicted_output_gap_sqrt_law": gap or 1.0,
    }


def circles(d, **changed):
    """What the theory has for both circles, but for what is changed."""
    return {
        "accuracy": xr.where(d[P] == 1, 1 / d[K], 0.5),
        "parent_attention": xr.where(d.step < 4, 0.1, 1.0),
        "attention_spread": 0.0,
    } | changed


def failure(d, **changed):
    return {
        "accuracy": xr.where(full_turns(d), 1 / d[K], 1.0),
        "attention_spread": 0.0,
        "value_spread": xr.where(full_turns(d), 0.0, 1.0),
    } | changed


def sharp(d, **changed):
    """Attention as sharp as the theorem has it but where M = N."""
    return {
        "selected_lag": xr.where(d[M] == d[N], 3.0, 1.0),
        "stray_attention": np.exp(-2.0 * d[N]),
    } | changed


def after(d, step):
    """NaN after a step, as of runs that diverged then; 0 before."""
    return xr.where(d.step > step, np.nan, 0.0)


def optimized(d, adam, descents):
    """Which runs get there."""
    success = xr.where(d.algorithm.isin(["adam", "adam_literal"]), adam, descents)
    return {
        "selected_lag": xr.where(success == 1, 1.0, 3.0),
        "parent_attention": success,
        "accuracy": xr.where(success == 1, 0.7, 0.4),
        V: 0.1 * success,
    }


def offsets(d, usual, larger, power):
    """Which runs get there with Adam's usual offset and with larger ones, and the contrast of V."""
    success = xr.where(d.adam_epsilon < 1e-7, usual, larger)
    law = (d.adam_epsilon / (d.adam_epsilon + 0.25)) ** power
    return {
        "selected_lag": xr.where(success == 1, 1.0, 3.0),
        "accuracy": xr.where(success == 1, 0.7, 0.4),
        "value_spread": 0.3 * xr.where(d.run == "descent", 1.0, law),
    }


def turned(d, small, large):
    """The cosine of W and its max-margin direction at small and at large rates."""
    return {
        "margin_direction": xr.where(d.learning_rate < 0.05, small, large),
        "parent_attention": 1.0,
    }


def long_run(d, **changed):
    """Runs that keep the parent, with V at the floor of a sample."""
    return {
        "parent_attention": xr.where(d.step < 4, 0.1, 1.0),
        "stray_attention": xr.where(d.step < 4, 0.9, 1e-12),
        "accuracy": optimum(d),
        f"{V}_sqrt": (11 / 4000 + 0.01**2) ** 0.5,
        f"predicted_{V}_population": 0.01,
    } | changed


def started(d, accuracy):
    """Random starts that miss the parent."""
    return {"accuracy": accuracy, "parent_attention": 0.0, "selected_lag": 3.0}


CASES = {
    "circles as in the sources": Case("walk_circles", circles, "1 2 8"),
    "circles not learned at p = 1/2, learned at 1": Case(
        "walk_circles",
        lambda d: circles(d, accuracy=d[P] * 0.9, parent_attention=0.99, attention_spread=1e-3),
        "",
    ),
    "circles diverged after t = 10": Case(
        "walk_circles",
        lambda d: {name: after(d, 10) + values for name, values in circles(d).items()},
        "",
        n={"2": 16, "8": 16},
    ),
    "failure": Case(
        "walk_failure",
        failure,
        "9 10",
    ),
    "failure, symmetry lost": Case(
        "walk_failure",
        lambda d: failure(d, attention_spread=1e-9),
        "10",
    ),
    "failure, V not constant": Case("walk_failure", lambda d: failure(d, value_spread=1e-6), "10"),
    "failure everywhere": Case("walk_failure", lambda d: failure(d, accuracy=1 / d[K]), "9"),
    "sqrt law": Case(
        "walk_direction",
        lambda d: {"value_ratio": odds(d) ** 0.5, "selected_lag": 1.0, "accuracy": optimum(d)},
        "12 14",
    ),
    "theorem": Case(
        "walk_direction",
        lambda d: {"value_ratio": odds(d), "selected_lag": 1.0, "accuracy": 1 - optimum(d)},
        "11",
    ),
    "sqrt law, the parent missed above p = 0.7": Case(
        "walk_direction",
        lambda d: {
            "value_ratio": xr.where(d[P] > 0.7, 1.0, odds(d) ** 0.5),
            "selected_lag": xr.where(d[P] > 0.7, 3.0, 1.0),
            "accuracy": xr.where(d[P] > 0.7, 0.4, optimum(d)),
        },
        "12",
    ),
    "rate -1/2": Case("walk_rate", lambda d: power_law(d, -0.5), "6 16 18"),
    "rate -1/4": Case("walk_rate", lambda d: power_law(d, -0.25), ""),
    "rate -1": Case("walk_rate", lambda d: power_law(d, -1.0), "6"),
    "rate -1/2, gap of the output": Case(
        "walk_rate", lambda d: power_law(d, -0.5, gap=0.3), "16 18 35"
    ),
    "parent selected but for K = 4": Case(
        "walk_phase",
        lambda d: {"selected_lag": xr.where(d[K] == 4, 3.0, 1.0), "accuracy": optimum(d)},
        "20 22",
    ),
    "parent selected up to p = 1/2 alone": Case(
        "walk_phase",
        lambda d: {"selected_lag": xr.where(d[P] > 0.5, 3.0, 1.0), "accuracy": optimum(d)},
        "",
    ),
    "sharp in N": Case(
        "walk_lengths",
        lambda d: sharp(d, loss=1.0),
        "24 26",
    ),
    "blunt in N, the parent missed at p = 0.8": Case(
        "walk_lengths",
        lambda d: {
            "loss": 1.0,
            "selected_lag": xr.where(d[P] > 0.5, 3.0, 1.0),
            "stray_attention": np.exp(-0.1 * d[N] ** 0.5),
        },
        "",
    ),
    "blunt in N, the parent always selected": Case(
        "walk_lengths",
        lambda d: {"loss": 1.0, "selected_lag": 1.0, "stray_attention": np.exp(-100.0 / d[N])},
        "24",
    ),
    "escape as predicted": Case(
        "walk_escape",
        lambda d: {
            "accuracy": 1.0,
            "attention_spread": spread(d, 20.0),
            "predicted_attention_spread_linear": spread(d, 20.0),
        },
        "28 30",
    ),
    "escape as predicted, but for one replicate": Case(
        "walk_escape",
        lambda d: {
            "accuracy": xr.where(d.seed == 0, 1 / 6, 1.0),
            "attention_spread": spread(d, 20.0),
            "predicted_attention_spread_linear": spread(d, 20.0),
        },
        "30",
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
    "random starts learn in 14 of 16 replicates, and miss the parent": Case(
        "walk_random_start",
        lambda d: started(d, xr.where(d.seed < 2, 1 / 6, optimum(d))),
        "34",
        drawn=True,
    ),
    "random starts do not learn": Case("walk_random_start", lambda d: started(d, 1 / 6), ""),
    "long runs": Case("walk_iterations", long_run, "47 48", drawn=True),
    "long runs that lose the parent, V exact": Case(
        "walk_iterations",
        lambda d: long_run(
            d, parent_attention=xr.where(d.step > 5000, 0.5, 1.0), **{f"{V}_sqrt": 0.01}
        ),
        "",
    ),
    "questions": Case(
        "walk_questions", lambda d: {"accuracy": xr.where(d.task == "qa1", 1.0, 0.5)}, "38 39"
    ),
    "questions the other way round": Case(
        "walk_questions", lambda d: {"accuracy": xr.where(d.task == "qa2", 1.0, 0.5)}, ""
    ),
    "optimizers as measured": Case(
        "walk_optimizers", lambda d: optimized(d, 0, 1), "42 43", drawn=True
    ),
    "Adam gets there, descent does not": Case("walk_optimizers", lambda d: optimized(d, 1, 0), ""),
    "a larger offset of Adam repairs": Case(
        "walk_adam_epsilon", lambda d: offsets(d, 0, 1, 1.0), "50 51 52", drawn=True
    ),
    "the usual offset does": Case("walk_adam_epsilon", lambda d: offsets(d, 1, 0, 0.5), ""),
    "small steps go to the max margin": Case(
        "walk_margin", lambda d: turned(d, 0.98, 0.1), "53 54", drawn=True
    ),
    "large steps do": Case("walk_margin", lambda d: turned(d, 0.1, 0.98), ""),
    "the parent is lost where the law says": Case(
        "walk_parent", lambda d: boundary_data(d, 0.68, law=0.7), "49", drawn=True
    ),
    "the parent is kept": Case("walk_parent", lambda d: boundary_data(d, np.nan, law=0.7), ""),
}
