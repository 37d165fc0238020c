"""Made-up results of nearest_neighbor."""

import numpy as np
import xarray as xr

from . import Case


def power(d, exponent):
    return (d.step + 1e-3) ** exponent


def laws(d, exponent=1 / 3, speed=1.0, ratio=0.8):
    """A run with xi1 = speed t^exponent and its loss, the valley at speed 1."""
    xi1 = speed * power(d, exponent)
    loss = 0.8 * power(d, -exponent)
    return {
        "xi1": xi1,
        "xi2": xi1 / ratio,
        "loss": loss,
        "test_loss": loss,
        "predicted_xi1_law": power(d, exponent),
        "predicted_xi1_valley": power(d, exponent),
        "predicted_xi2_valley": power(d, exponent) / ratio,
        "predicted_test_loss_law": 0.7 * power(d, -exponent),
        "agreement": 0.99,
    }


def masks(d, *values):
    return xr.DataArray(list(values), {"mask": list(d.mask.values)}, ["mask"])


def deltas(d, *values):
    return xr.DataArray(list(values), {"separation": list(d.separation.values)}, ["separation"])


def crowded(d):
    return d.context / (d.dimension**0.5 * np.log(d.dimension))


def plane(d, speed1, speed2, end):
    late = d.step == d.step[-1]
    xi1 = xr.where(late, 10.0, d.initial_alignment + speed1 * d.step)
    return {"xi1": xi1, "xi2": xr.where(late, end * 10.0, d["mask"] + speed2 * d.step)}


def structure(d, exponent, size, xi1=3.85, logit=-1.77):
    off = size * (d.num_prompts / 500) ** exponent
    return {
        "off_structure": off,
        "off_diagonal": off / 2,
        "diagonal_spread": off / 2,
        "xi1": xi1,
        "xi2": 5.62,
        "query_logit": logit,
    }


CASES = {
    "training as in the population": Case("neighbor_training", laws, "1 2 3 4 5 6 7 8 10"),
    "training as the talk has it": Case(
        "neighbor_training",
        lambda d: (
            laws(d, 0.5, 1.3, ratio=3.0)
            | {"xi2": xr.where(d.step < 2000, 3.0, 1.0), "agreement": 0.96, "loss": 0.1}
        ),
        "1 8 9",
    ),
    "training that rises again": Case(
        "neighbor_training",
        lambda d: (
            laws(d, 0.2, 0.7) | {"loss": 0.05 + 1e-6 * d.step, "predicted_test_loss_law": 2.0}
        ),
        "2 10",
    ),
    "masks do not matter": Case(
        "neighbor_mask",
        lambda d: {"test_loss": 0.06, "query_attention": 0.01 * (1 + d.step * (d.step < 30))},
        "12 13",
    ),
    "masks matter": Case(
        "neighbor_mask",
        lambda d: {
            "test_loss": masks(d, 0.3, 0.2, 0.06, 0.06),
            "query_attention": 0.01 / (d.step + 1),
        },
        "11 14",
    ),
    "any length of prompts": Case(
        "neighbor_context",
        lambda d: {
            "population_loss": 0.02 * d.context * power(d, -1 / 3),
            "xi1": 1.0,
            "xi2": 1.0,
            "predicted_xi1_valley": 1.0,
            "predicted_xi2_valley": 1.0,
        },
        "16 17 18",
    ),
    "long prompts only": Case(
        "neighbor_context",
        lambda d: {
            "population_loss": xr.where(crowded(d) < 1, 0.5, 0.5 * power(d, -1 / 3)),
            "xi1": 1.0,
            "xi2": 2.0,
            "predicted_xi1_valley": 1.0,
            "predicted_xi2_valley": 1.0,
        },
        "15",
    ),
    "shift as derived": Case(
        "neighbor_shift",
        lambda d: {
            "bound_ratio": 1.0,
            "early_bound_ratio": deltas(d, 0.1, 0.1, 1.0, 10.0, 1e4, 1e9),
            "shift_error": 0.0005 * (2 - d.step / 2000),
            "shift_bound": deltas(d, 2.0, 2.0, 2.0, 0.01, 0.01, 0.01),
        },
        "19 21 22 23 25",
    ),
    "shift as printed": Case(
        "neighbor_shift",
        lambda d: {
            "bound_ratio": 1.1,
            "early_bound_ratio": 0.9,
            "shift_error": 0.2 + 1e-4 * d.step,
            "shift_bound": 0.15,
        },
        "20 24",
    ),
    "a valley": Case(
        "neighbor_plane", lambda d: plane(d, -0.01, 0.1, 1.4) | {"population_loss": 0.4}, "26 29"
    ),
    "no valley": Case(
        "neighbor_plane", lambda d: plane(d, 0.01, -0.1, 0.2) | {"population_loss": 0.05}, "27 28"
    ),
    "structure of the population": Case(
        "neighbor_structure", lambda d: structure(d, -0.5, 0.5), "30 31 32 33 35 36"
    ),
    "the talk's logit, no structure": Case(
        "neighbor_structure",
        lambda d: structure(d, -0.1, 1.0, logit=-5.62, xi1=xr.where(d.route == "W", 4.0, 3.85)),
        "34",
    ),
}
