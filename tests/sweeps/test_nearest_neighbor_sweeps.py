"""The figures of nearest_neighbor: valid in full and quick mode, few compilations, and claims that react to the data."""

import functools
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.core.files import load

SWEEPS = Path(__file__).parents[2] / "sweeps"
FIGURES = {f.name: f for file in sorted(SWEEPS.glob("nearest_neighbor*.py")) for f in load(file).FIGURES}
EXACT = ("neighbor_context", "neighbor_plane")  # on infinitely many prompts: no seeds


@functools.cache
def plan(name, quick):
    config, request = jaxtheory.claims.arguments(FIGURES[name], quick)
    return jaxtheory.plan(FIGURES[name].theory, config, **request)


def test_claims_and_figures_have_names_of_their_own():
    ids = [claim.id for figure in FIGURES.values() for claim in figure.claims]
    assert len(FIGURES) == sum(len(load(file).FIGURES) for file in SWEEPS.glob("nearest_neighbor*.py"))
    assert sorted(ids, key=lambda i: int(i[3:])) == [f"NN-{i + 1}" for i in range(len(ids))]


@pytest.mark.parametrize("name", FIGURES)
def test_full_figure_has_seeds_for_its_claims(name):
    assert all(len(plan(name, False).seeds) >= (1 if name in EXACT else max(claim.minimum, 8)) for claim in FIGURES[name].claims)


def test_quick_figures_share_compilations_and_test_a_claim():
    programs = {(b.algorithm, jax.tree.structure(b.template), b.layout) for name in FIGURES for b in plan(name, True).buckets}
    assert len(programs) <= 8
    assert any(len(plan(name, True).seeds) >= c.minimum for name, figure in FIGURES.items() for c in figure.claims)


# Claims on made-up results: which of them hold


def table(name):
    """A dataset with the axes, seeds and steps of a figure and no values: metrics are made from its coordinates."""
    axes, sweep = plan(name, False).axes, FIGURES[name].sweep
    coords = {a.name: list(a.labels) for a in axes} | {"seed": list(plan(name, False).seeds), "step": list(sweep["record"])}
    coords |= {word: (a.name, list(v)) for a in axes for word, v in a.values.items() if word != a.name}
    whole = xr.DataArray(1.0, coords, [*(a.name for a in axes), "seed", "step"])
    return whole.to_dataset(name="one")


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
    return {"off_structure": off, "off_diagonal": off / 2, "diagonal_spread": off / 2, "xi1": xi1, "xi2": 5.62, "query_logit": logit}


CASES = {
    "training as in the population": ("neighbor_training", laws, "1 2 3 4 5 6 7 8 10"),
    "training as the talk has it": (
        "neighbor_training",
        lambda d: laws(d, 0.5, 1.3, ratio=3.0) | {"xi2": xr.where(d.step < 2000, 3.0, 1.0), "agreement": 0.96, "loss": 0.1},
        "1 8 9",
    ),
    "training that rises again": (
        "neighbor_training",
        lambda d: laws(d, 0.2, 0.7) | {"loss": 0.05 + 1e-6 * d.step, "predicted_test_loss_law": 2.0},
        "2 10",
    ),
    "masks do not matter": (
        "neighbor_mask",
        lambda d: {"test_loss": 0.06, "query_attention": 0.01 * (1 + d.step * (d.step < 30))},
        "12 13",
    ),
    "masks matter": (
        "neighbor_mask",
        lambda d: {"test_loss": masks(d, 0.3, 0.2, 0.06, 0.06), "query_attention": 0.01 / (d.step + 1)},
        "11 14",
    ),
    "any length of prompts": (
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
    "long prompts only": (
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
    "shift as derived": (
        "neighbor_shift",
        lambda d: {
            "bound_ratio": 1.0,
            "early_bound_ratio": deltas(d, 0.1, 0.1, 1.0, 10.0, 1e4, 1e9),
            "shift_error": 0.0005 * (2 - d.step / 2000),
            "shift_bound": deltas(d, 2.0, 2.0, 2.0, 0.01, 0.01, 0.01),
        },
        "19 21 22 23 25",
    ),
    "shift as printed": (
        "neighbor_shift",
        lambda d: {
            "bound_ratio": 1.1,
            "early_bound_ratio": 0.9,
            "shift_error": 0.2 + 1e-4 * d.step,
            "shift_bound": 0.15,
        },
        "20 24",
    ),
    "a valley": ("neighbor_plane", lambda d: plane(d, -0.01, 0.1, 1.4) | {"population_loss": 0.4}, "26 29"),
    "no valley": ("neighbor_plane", lambda d: plane(d, 0.01, -0.1, 0.2) | {"population_loss": 0.05}, "27 28"),
    "structure of the population": ("neighbor_structure", lambda d: structure(d, -0.5, 0.5), "30 31 32 33 35 36"),
    "the talk's logit, no structure": (
        "neighbor_structure",
        lambda d: structure(d, -0.1, 1.0, logit=-5.62, xi1=xr.where(d.route == "W", 4.0, 3.85)),
        "34",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claims_react_to_the_data(case):
    name, values, expected = CASES[case]
    data = table(name)
    data = data.assign({metric: data.one * value for metric, value in values(data).items()})
    verdicts = {claim.id: claim.test(data) for claim in FIGURES[name].claims}
    assert {i for i, v in verdicts.items() if v.holds} == {f"NN-{i}" for i in expected.split()}
    assert all(v.n >= 8 or name in EXACT for v in verdicts.values())


def test_every_claim_is_seen_to_hold_and_to_fail():
    held = {i for _, _, expected in CASES.values() for i in expected.split()}
    failed = {c.id[3:] for name, _, expected in CASES.values() for c in FIGURES[name].claims if c.id[3:] not in expected.split()}
    assert held == failed == {c.id[3:] for figure in FIGURES.values() for c in figure.claims}
