"""The figures of random_walk: valid in full and quick mode, few compilations, and claims that react to the data."""

import functools
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.core.files import load

SWEEPS = Path(__file__).parents[2] / "sweeps"
FIGURES = {f.name: f for file in sorted(SWEEPS.glob("random_walk*.py")) for f in load(file).FIGURES}
K, N, P, DELTA = "num_states", "length", "clockwise_probability", "perturbation"
V = "value_direction_error"


@functools.cache
def plan(name, quick):
    config, request = jaxtheory.claims.arguments(FIGURES[name], quick)
    return jaxtheory.plan(FIGURES[name].theory, config, **request)


def test_claims_and_figures_have_names_of_their_own():
    ids = [claim.id for figure in FIGURES.values() for claim in figure.claims]
    assert len(FIGURES) == sum(len(load(file).FIGURES) for file in SWEEPS.glob("random_walk*.py"))
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", FIGURES)
def test_full_figure_has_seeds_for_its_claims(name):
    assert all(len(plan(name, False).seeds) >= claim.minimum for claim in FIGURES[name].claims)


def test_quick_figures_share_four_compilations_and_test_a_claim():
    programs = {(b.algorithm, jax.tree.structure(b.template), b.layout) for name in FIGURES for b in plan(name, True).buckets}
    assert len(programs) <= 4
    assert any(len(plan(name, True).seeds) >= c.minimum for name, figure in FIGURES.items() for c in figure.claims)


# Claims on made-up results: which of them hold


def table(name):
    """A dataset with the axes, seeds and steps of a figure and no values: metrics are made from its coordinates."""
    axes, sweep = plan(name, False).axes, FIGURES[name].sweep
    steps = sweep["record"] if isinstance(sweep["record"], list) else range(sweep["steps"] + 1)
    coords = {a.name: list(a.labels) for a in axes} | {"seed": list(plan(name, False).seeds), "step": list(steps)}
    coords |= {word: (a.name, list(v)) for a in axes for word, v in a.values.items() if word != a.name}
    whole = xr.DataArray(1.0, coords, [*(a.name for a in axes), "seed", "step"])
    return whole.to_dataset(name="one")


def odds(d):
    return d[P] / (1 - d[P])


def optimum(d):
    return abs(d[P] - 0.5) + 0.5


def full_turns(d):
    return (d[N] - 1) % d[K] == 0


def spread(d, factor):
    return (d[DELTA] * factor**d.step).clip(0, 1)


def power_law(d, exponent):
    return dict.fromkeys((V, f"{V}_sqrt", "output_error"), (d.step + 1e-9) ** exponent) | {"selected_lag": 1.0}


CASES = {
    "circles as in the sources": (
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
    "circles not learned at p = 1/2, learned at 1": (
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
    "failure": ("walk_failure", lambda d: {"accuracy": xr.where(full_turns(d), 1 / d[K], 1.0), "attention_spread": 0.0}, "9 10"),
    "failure, symmetry lost": (
        "walk_failure",
        lambda d: {"accuracy": xr.where(full_turns(d), 1 / d[K], 1.0), "attention_spread": 1e-9},
        "10",
    ),
    "failure everywhere": ("walk_failure", lambda d: {"accuracy": 1 / d[K], "attention_spread": 0.0}, "9"),
    "sqrt law": (
        "walk_direction",
        lambda d: {"value_ratio": odds(d) ** 0.5, "selected_lag": 1.0, "parent_attention": 1.0, "accuracy": optimum(d)},
        "12 13 14",
    ),
    "theorem": (
        "walk_direction",
        lambda d: {"value_ratio": odds(d), "selected_lag": 1.0, "parent_attention": 0.9, "accuracy": 1 - optimum(d)},
        "11",
    ),
    "rate -1/2": ("walk_rate", lambda d: power_law(d, -0.5), "15 16 17 18 19"),
    "rate -1/4": ("walk_rate", lambda d: power_law(d, -0.25), ""),
    "parent selected but for K = 4": (
        "walk_phase",
        lambda d: {"selected_lag": xr.where(d[K] == 4, 3.0, 1.0), "accuracy": optimum(d)},
        "20 21 22 23",
    ),
    "parent selected by three seeds in four": (
        "walk_phase",
        lambda d: {"selected_lag": xr.where(d.seed % 4 == 0, 3.0, 1.0), "accuracy": optimum(d)},
        "",
    ),
    "sharp in N": ("walk_lengths", lambda d: {"selected_lag": 1.0, "stray_attention": np.exp(-2.0 * d[N])}, "24 25 26 27"),
    "blunt in N": (
        "walk_lengths",
        lambda d: {"selected_lag": xr.where(d.seed % 4 == 0, 3.0, 1.0), "stray_attention": np.exp(-100.0 / d[N])},
        "",
    ),
    "escape as predicted": (
        "walk_escape",
        lambda d: {"accuracy": 1.0, "attention_spread": spread(d, 20.0), "predicted_attention_spread_linear": spread(d, 20.0)},
        "28 29 30",
    ),
    "escape too slow": (
        "walk_escape",
        lambda d: {"accuracy": 1 / 6, "attention_spread": spread(d, 5.0), "predicted_attention_spread_linear": spread(d, 20.0)},
        "",
    ),
    "random starts learn": ("walk_random_start", lambda d: {"accuracy": optimum(d), "parent_attention": 1.0}, "31 32 33 34 36 37"),
    "random starts do not learn": ("walk_random_start", lambda d: {"accuracy": 1 / 6, "parent_attention": 0.01}, "35"),
    "questions": (
        "walk_questions",
        lambda d: {"accuracy": xr.where(d.task == "qa1", 1.0, 0.5), "kl": xr.where(d.task == "qa1", 0.6, 0.7)},
        "38 39 40 41",
    ),
    "questions the other way round": (
        "walk_questions",
        lambda d: {"accuracy": xr.where(d.task == "qa2", 1.0, 0.5), "kl": xr.where(d.task == "qa2", 0.6, 0.7)},
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claims_react_to_the_data(case):
    name, metrics, expected = CASES[case]
    data = table(name)
    data = data.assign({metric: data.one * value for metric, value in metrics(data).items()})
    verdicts = {claim.id: claim.test(data) for claim in FIGURES[name].claims}
    assert {i for i, v in verdicts.items() if v.holds} == {f"RW-{i}" for i in expected.split()}
    assert all(v.n >= 8 or name == "walk_failure" for v in verdicts.values())


def test_every_claim_is_seen_to_hold_and_to_fail():
    held = {i for _, _, expected in CASES.values() for i in expected.split()}
    failed = {
        c.id.removeprefix("RW-") for name, _, expected in CASES.values() for c in FIGURES[name].claims if c.id[3:] not in expected.split()
    }
    assert held == failed == {c.id[3:] for figure in FIGURES.values() for c in figure.claims}
