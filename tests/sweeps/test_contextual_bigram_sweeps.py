"""The figures of contextual_bigram: valid in full and quick mode, few compilations, and claims that react to the data."""

import functools
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.core.files import load

SWEEPS = Path(__file__).parents[2] / "sweeps"
FIGURES = {f.name: f for file in sorted(SWEEPS.glob("contextual_bigram*.py")) for f in load(file).FIGURES}
LAW = "predicted_right_sign_sign_law"


@functools.cache
def plan(name, quick):
    config, request = jaxtheory.claims.arguments(FIGURES[name], quick)
    return jaxtheory.plan(FIGURES[name].theory, config, **request)


def test_claims_and_figures_have_names_of_their_own():
    ids = [claim.id for figure in FIGURES.values() for claim in figure.claims]
    assert len(FIGURES) == sum(len(load(file).FIGURES) for file in SWEEPS.glob("contextual_bigram*.py"))
    assert sorted(ids, key=lambda i: int(i[3:])) == [f"CB-{i + 1}" for i in range(len(ids))]


@pytest.mark.parametrize("name", FIGURES)
def test_full_figure_has_seeds_for_its_claims(name):
    assert all(len(plan(name, False).seeds) >= max(claim.minimum, 8) for claim in FIGURES[name].claims)


def test_quick_figures_share_compilations_and_test_a_claim():
    programs = {(b.algorithm, jax.tree.structure(b.template), b.layout) for name in FIGURES for b in plan(name, True).buckets}
    assert len(programs) <= 5
    assert any(len(plan(name, True).seeds) >= c.minimum for name, figure in FIGURES.items() for c in figure.claims)


# Claims on made-up results: which of them hold


def table(name):
    """A dataset with the axes, seeds and steps of a figure and no values: metrics are made from its coordinates."""
    axes, sweep = plan(name, False).axes, FIGURES[name].sweep
    coords = {a.name: list(a.labels) for a in axes} | {"seed": list(plan(name, False).seeds), "step": list(sweep["record"])}
    coords |= {word: (a.name, list(v)) for a in axes for word, v in a.values.items() if word != a.name}
    whole = xr.DataArray(1.0, coords, [*(a.name for a in axes), "seed", "step"])
    return whole.to_dataset(name="one")


ANALYSES = ("support_recovery", "rounded_attention_distance", "rounded_value_distance")


def data_of(name, values):
    """The made-up dataset: analyses have no steps; all tasks are easy and all signs right unless said otherwise."""
    data = table(name)
    for metric, value in ({"right_sign": 1.0, LAW: 1.0} | values(data)).items():
        whole = data.one * value
        data[metric] = whole.isel(step=-1, drop=True) if metric in ANALYSES else whole
    return data


def runs(d, *values):
    """One value per kind of run."""
    return xr.DataArray(list(values), {"run": list(d.run.values)}, ["run"])


def late(d, end, before):
    return xr.where(d.step == d.step[-1], end, before)


def noiseless(d, rate=0.05, drift=1 / 149):
    s = rate * d.step
    early = drift * np.sinh(s)
    return early.where(early <= 1)


def easy(d):
    """A law of B / (eta T) between 1/2 and 1."""
    x = d.batch_size / (d.learning_rate * d.length)
    return 0.5 + 0.5 * x / (x + 1)


NOISY = ("attention_alignment", "value_alignment", "attention_cosine", "attention_residual")

CASES = {
    "proximal, as measured": (
        "bigram_proximal",
        lambda d: {
            "attention_cosine": runs(d, 0.985, 0.94, 0.07),
            "excess_loss": late(d, runs(d, 0.03, 0.1, 1.0), runs(d, 0.02, 0.1, 1.0)),
            "relative_excess_loss": runs(d, 0.03, 0.1, 1.0),
            "attention_residual": runs(d, 0.07, 0.4, 0.001),
            "attention_alignment": runs(d, 0.7, 1.6, 0.0),
            "value_alignment": runs(d, 1.25, 0.55, 0.0),
            "support_recovery": runs(d, 1.0, 1.0, 0.0),
            "rounded_attention_distance": runs(d, 0.03, 0.01, 0.7),
            "rounded_value_distance": runs(d, 0.001, 0.001, 0.2),
            "below_lambda": runs(d, 0.6, 0.5, 0.0),
        },
        "1 2 3 4 5 6 7 8 9 10 11 12 13",
    ),
    "proximal, as hoped for by the source and worse": (
        "bigram_proximal",
        lambda d: {
            "attention_cosine": 0.5,
            "excess_loss": 0.1,
            "relative_excess_loss": 0.1,
            "attention_residual": 0.1,
            "attention_alignment": 1.0,
            "value_alignment": 1.0,
            "support_recovery": 2 / 3,
            "rounded_attention_distance": 0.3,
            "rounded_value_distance": 0.1,
            "below_lambda": 0.0,
        },
        "14 15",
    ),
    "set-up too short": (
        "bigram_setup",
        lambda d: {
            "attention_distance": xr.where(d.step == 0, 0.7, 0.6),
            "attention_cosine": runs(d, 0.92, 0.4),
            "relative_excess_loss": 0.9,
            "predicted_attention_alignment_population": 0.2,
            "support_recovery": runs(d, 1.0, 2 / 3),
            "right_sign": xr.where(d.seed == 3, 0.0, 1.0),
        },
        "19 20 21",
    ),
    "set-up long enough": (
        "bigram_setup",
        lambda d: {
            "attention_distance": xr.where(d.step == 0, 0.7, runs(d, 0.05, 0.5)),
            "attention_cosine": 0.99,
            "relative_excess_loss": runs(d, 0.05, 0.9),
            "predicted_attention_alignment_population": 0.9,
            "support_recovery": runs(d, 2 / 3, 1.0),
        },
        "16 17 18 22",
    ),
    "cutting at zero distorts and denoises": (
        "bigram_lambda",
        lambda d: {
            "attention_alignment": 0.5 - 0.05 * np.log10(d.l1 + 1e-9),
            "value_alignment": 1.5 + 0.05 * np.log10(d.l1 + 1e-9),
            "predicted_attention_alignment_prox": 0.999,
            "attention_residual": xr.where((d.prox != "textbook") & (d.l1 > 0), 0.05, xr.where(d.l1 < 1e-3, 0.4, 0.1)),
        },
        "23 24 26 27 29",
    ),
    "a small lambda distorts only by itself and denoises": (
        "bigram_lambda",
        lambda d: {
            "attention_alignment": 1.0,
            "value_alignment": 1.0,
            "predicted_attention_alignment_prox": 0.9,
            "attention_residual": xr.where((d.prox == "textbook") & (d.l1 < 1e-3), 0.05, 0.4),
        },
        "25 28",
    ),
    "softmax learns": (
        "bigram_softmax",
        lambda d: {"attention_cosine": runs(d, 0.99, 0.99, 0.9, 0.707), "relative_excess_loss": runs(d, 0.01, 0.01, 0.1, 0.5)},
        "30 31 32",
    ),
    "softmax does not learn": (
        "bigram_softmax",
        lambda d: {"attention_cosine": runs(d, 0.99, 0.8, 0.9, 0.99), "relative_excess_loss": 0.5},
        "",
    ),
    "many tokens": (
        "bigram_large",
        lambda d: {"attention_cosine": 0.99, "attention_residual": runs(d, 0.02, 0.1), "support_recovery": 1.0},
        "33 34 35",
    ),
    "many tokens, nothing gained": (
        "bigram_large",
        lambda d: {"attention_cosine": 0.9, "attention_residual": 0.1, "support_recovery": runs(d, 1.0, 0.9)},
        "",
    ),
    "sign law, but for large steps": (
        "bigram_sign",
        lambda d: {"right_sign": xr.where((d.seed < 96 * easy(d)) & (easy(d) > 0.55), 1.0, 0.0), LAW: easy(d)},
        "36 37 38 39",
    ),
    "sign a coin, but for short contexts": (
        "bigram_sign",
        lambda d: {"right_sign": xr.where((d.seed % 2 == 0) | (d.length == 64), 1.0, 0.0), LAW: 0.6},
        "",
    ),
    "population limit": (
        "bigram_population",
        lambda d: {
            "attention_alignment": 400 / d.batch_size,
            "value_alignment": noiseless(d),
            "predicted_attention_alignment_population": 0.0,
            "predicted_value_alignment_population": noiseless(d),
            "predicted_value_alignment_early": noiseless(d),
        },
        "41 42 43 44",
    ),
    "closer to the limit than it is, in another time": (
        "bigram_population",
        lambda d: {
            "attention_alignment": 0.07,
            "value_alignment": noiseless(d, rate=0.03),
            "predicted_attention_alignment_population": 0.0,
            "predicted_value_alignment_population": noiseless(d, rate=0.03),
            "predicted_value_alignment_early": noiseless(d),
        },
        "40 41",
    ),
    "no limit": (
        "bigram_population",
        lambda d: {
            "attention_alignment": 1.0,
            "value_alignment": 2.0,
            "predicted_attention_alignment_population": 0.0,
            "predicted_value_alignment_population": noiseless(d, rate=0.03),
            "predicted_value_alignment_early": noiseless(d),
        },
        "",
    ),
    "noise as simulated": (
        "bigram_noise",
        lambda d: dict.fromkeys(NOISY, 0.7 + 0.02 * (-1.0) ** d.seed * (d.algorithm == "noise")),
        "45 46 47",
    ),
    "noise twice as strong": (
        "bigram_noise",
        lambda d: dict.fromkeys(NOISY, 0.4 + (0.4 + 0.02 * (-1.0) ** d.seed) * (d.algorithm == "noise")),
        "",
    ),
    "one step": (
        "bigram_transfer",
        lambda d: {
            "support_match": xr.where(d.seed == 0, 0.5, 1.0),
            "predicted_support_match_one_step": xr.where(d.seed == 0, 0.5, 1.0),
            "off_support_std": d.samples**-0.5,
            "predicted_off_support_std_one_step": d.samples**-0.5,
        },
        "49 50 51 52 53",
    ),
    "one step, worse for long contexts": (
        "bigram_transfer",
        lambda d: {
            "support_match": 0.5,
            "predicted_support_match_one_step": 0.995,
            "off_support_std": d.length**0.5 * d.samples**-0.5,
            "predicted_off_support_std_one_step": d.samples**-0.5,
        },
        "",
    ),
    "one step suffices everywhere": (
        "bigram_transfer",
        lambda d: {
            "support_match": 1.0,
            "predicted_support_match_one_step": 0.5,
            "off_support_std": 1.0,
            "predicted_off_support_std_one_step": 2.0,
        },
        "48 51",
    ),
    "pre-trained": (
        "bigram_pretrained",
        lambda d: {
            "predicted_support_match_one_step": 1.0,
            "relative_excess_loss": runs(d, 0.05, 0.5, 0.95),
            "excess_loss": xr.where(d.step == 200, 0.05, 0.1),
            "support_recovery": 1.0,
            "rounded_attention_distance": 0.03,
            "rounded_value_distance": 0.001,
        },
        "54 55 56 57 58 59",
    ),
    "pre-trained in vain": (
        "bigram_pretrained",
        lambda d: {
            "predicted_support_match_one_step": 1.0,
            "relative_excess_loss": 0.7,
            "excess_loss": 0.1,
            "support_recovery": 2 / 3,
            "rounded_attention_distance": 0.3,
            "rounded_value_distance": 0.1,
        },
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claims_react_to_the_data(case):
    name, values, expected = CASES[case]
    data = data_of(name, values)
    verdicts = {claim.id: claim.test(data) for claim in FIGURES[name].claims}
    assert {i for i, v in verdicts.items() if v.holds} == {f"CB-{i}" for i in expected.split()}


def test_every_claim_is_seen_to_hold_and_to_fail():
    held = {i for _, _, expected in CASES.values() for i in expected.split()}
    failed = {c.id[3:] for name, _, expected in CASES.values() for c in FIGURES[name].claims if c.id[3:] not in expected.split()}
    assert held == failed == {c.id[3:] for figure in FIGURES.values() for c in figure.claims}


def test_runs_of_the_wrong_sign_and_hard_tasks_are_left_out():
    name, values, _ = CASES["proximal, as measured"]
    data = data_of(name, values)
    data["right_sign"] = xr.where(data.seed == 0, 0.0, data.right_sign)
    data[LAW] = xr.where(data.seed == 1, 0.9, data[LAW])
    data["attention_cosine"] = data.attention_cosine.where(data.seed > 1, -1.0)
    cosine = next(claim for claim in FIGURES[name].claims if claim.id == "CB-1").test(data)
    assert cosine.holds and cosine.n == data.sizes["seed"] - 2
