"""Made-up results of nearest_neighbor."""

import numpy as np
import xarray as xr

from sweeps.nearest_neighbor import neighbor_margin

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
        "nearest_attention": 1 - 0.9 * power(d, -exponent),
        "agreement": 0.99,
    }


def margin(d, near=0.05, large=1.0, signs=2.0, off=0.0, power=-1.0):
    """Three prompts of two examples on a plane, and W at `near` / log t of its solution S in size,
    in a direction across it; at `large` and `signs` for the other ways of training.
    """
    rng = np.random.default_rng(0)
    tokens = np.concatenate([rng.normal(size=(3, 3, 2)), np.zeros((3, 3, 1))], axis=2)
    tokens[:, :, :2] /= np.linalg.norm(tokens[:, :, :2], axis=2, keepdims=True)
    S = neighbor_margin.solution(tokens)
    across = np.eye(4) * [1, 1, 0, 0] if not off else neighbor_margin.off_structure(S)
    across = across - np.sum(across * S) / np.sum(S * S) * S
    matrix = lambda A: xr.DataArray(A / np.linalg.norm(A), dims=("row", "column"))
    size = {"averaged": near, "rademacher": signs}
    far = xr.where(d.labels == "averaged", size["averaged"], size["rademacher"])
    far = xr.where(d.training == neighbor_margin.LARGE, large, far)
    far = far * (np.log(d.step + 3) / np.log(10**4)) ** power
    return {
        "W": matrix(S) + far * matrix(across),
        "tokens": xr.DataArray(tokens, dims=("prompt", "token", "coordinate")),
    }


def three(make):
    """The results of three seeds, and all others diverged."""
    return lambda d: {
        name: xr.where(d.seed < 3, values, np.nan) for name, values in make(d).items()
    }


def masks(d, *values):
    return xr.DataArray(list(values), {"mask": list(d.mask.values)}, ["mask"])


def crowded(d):
    return d.context / (d.dimension**0.5 * np.log(d.dimension))


def structure(d, exponent, size, xi1=3.85, logit=-1.77):
    off = size * (d.num_prompts / 500) ** exponent
    return {
        "off_structure": off,
        "xi1": xi1,
        "xi2": 5.62,
        "query_logit": logit,
    }


def limits(d, ray=None, n=1.5):
    """Layers set to xi1 and xi2 = r xi1."""
    xi1, r = d.initial_alignment, d["mask"] / d.initial_alignment
    return {
        "query_attention": xr.where(r < 2, abs(1 - r / 2), 0) ** d.context,
        "test_loss": xr.where(r < 1, 0.3, 1 / xi1) if ray is None else xi1**ray,
        "shift_error": 1e-3 * d.context**n,
    }


def rate(d, power=None, query=-0.3, ratio=1.5):
    """exp(-delta xi1), or a power of t; a query that keeps its attention where xi2 < 2 xi1."""
    valley = 2.0 * (d.step + 1e-3) ** (1 / 3)
    falls = np.exp(-d.separation * valley) if power is None else (d.step + 1.0) ** power
    return {
        "shift_error": falls,
        "separated_error": (d.step + 1.0) ** query,
        "predicted_xi1_valley": valley,
        "xi1": valley,
        "xi2": ratio * valley,
    }


def labeled(d, exponent, agreement, code, independent):
    """Laws of near ties, and the entry of labels and mark, by the law of the labels."""
    entry = xr.where(d.cell.str.startswith("code"), code, independent)
    return laws(d, exponent) | {"agreement": agreement, "label_entry": entry}


CURVES = ("loss", "shift_error", "separated_error")
CASES = {
    "training as in the population": Case("neighbor_training", laws, "1 2 3 5 7 8 10"),
    "training as the talk has it": Case(
        "neighbor_training",
        lambda d: laws(d, 0.5, 1.3) | {"xi2": 3.0, "agreement": 0.96, "loss": 0.1 - 1e-6 * d.step},
        "1 2 9",
    ),
    "training that rises again": Case(
        "neighbor_training",
        lambda d: (
            laws(d, 0.2, 0.7)
            | {
                "loss": 0.05 + 1e-6 * d.step,
                "test_loss": 0.05 + 1e-6 * d.step,
                "predicted_test_loss_law": 2.0,
                "xi2": xr.where(d.step == 1, -1.0, 1.0),
            }
        ),
        "9 10",
    ),
    "masks do not matter": Case(
        "neighbor_mask", lambda d: {"test_loss": 0.06, "query_attention": 0.03}, "11"
    ),
    "masks matter": Case(
        "neighbor_mask",
        lambda d: {
            "test_loss": masks(d, 0.3, 0.2, 0.06, 0.06),
            "query_attention": 0.01 / (d.step + 1),
        },
        "14",
    ),
    "any length of prompts": Case(
        "neighbor_context",
        lambda d: {"population_loss": 0.02 * d.context * power(d, -1 / 3)},
        "16",
    ),
    "long prompts only": Case(
        "neighbor_context",
        lambda d: {"population_loss": xr.where(crowded(d) < 1, 0.5, 0.5 * power(d, -1 / 3))},
        "",
    ),
    "shift as derived": Case(
        "neighbor_shift",
        lambda d: {"bound_ratio": 1.0} | dict.fromkeys(CURVES, 1.0 - d.step / 4000),
        "19 22",
    ),
    "shift beyond its bound, and rising": Case(
        "neighbor_shift",
        lambda d: {"bound_ratio": 1.1} | dict.fromkeys(CURVES, 0.2 + 1e-4 * d.step),
        "",
    ),
    "a loose bound, one curve rises": Case(
        "neighbor_shift",
        lambda d: (
            {"bound_ratio": 0.3}
            | dict.fromkeys(CURVES, 1.0 - 1e-4 * d.step)
            | {"separated_error": 0.1 + 1e-6 * d.step}
        ),
        "",
    ),
    "structure of the population": Case(
        "neighbor_structure", lambda d: structure(d, -0.5, 0.5), "31 35"
    ),
    "the talk's logit, no structure": Case(
        "neighbor_structure",
        lambda d: structure(d, -0.1, 1.0, logit=-5.62, xi1=xr.where(d.route == "W", 4.0, 3.85)),
        "34",
    ),
    "softmax selects": Case("neighbor_limits", limits, "39"),
    "softmax selects for small xi2, too": Case(
        "neighbor_limits", lambda d: limits(d, ray=-1.0, n=2.5), "28"
    ),
    "shift as exp(-delta xi1)": Case("neighbor_rate", rate, "23 26 30", drawn=True),
    "shift as a power, for every query": Case(
        "neighbor_rate", lambda d: rate(d, -1.0, query=-2.0, ratio=2.5), "20"
    ),
    "few prompts go to the max margin": Case(
        "neighbor_margin", margin, "45 46 47 48 49", drawn=True
    ),
    "only the others do": Case(
        "neighbor_margin", lambda d: margin(d, -9.0, 0.05, 0.05, 1.0, 0.0), ""
    ),
    "labels as measured": Case(
        "neighbor_labels",
        lambda d: labeled(d, 1 / 3, 0.985, 0.04, 0.0),
        "51 52 53 54 56",
        drawn=True,
    ),
    "labels that slow training down": Case(
        "neighbor_labels", lambda d: labeled(d, 0.15, 0.9, 0.0, 0.05), "55"
    ),
}
# Where most runs diverged: figure -> a case, and the claims that divergence violates.
DIVERGED = {
    "training": ("training as in the population", "1"),
    "mask": ("masks matter", "11"),
    "shift": ("shift as derived", "22"),
    "structure": ("structure of the population", ""),
    "limits": ("softmax selects", ""),
    "rate": ("shift as exp(-delta xi1)", ""),
}
for _figure, (_name, _violated) in DIVERGED.items():
    _case = CASES[_name]
    CASES[f"neighbor_{_figure} mostly diverged"] = Case(
        _case.figure,
        three(_case.make),
        " ".join(number for number in _case.holds.split() if number != _violated),
        n=dict.fromkeys(_violated.split(), 8),
    )
