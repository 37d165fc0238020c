"""The downstream task of arXiv 2504.08638: online SGD from a pre-trained W against training from scratch and logistic regression.

Each run pre-trains for 200 steps, then takes one downstream sample a step, so that the number of samples is t - 200. The numbers of the
source are lost; these are ours.
"""

from pathlib import Path

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, verdicts
from jaxtheory.theories.group_sparse import Config

MAIN = jaxtheory.theories.load(Path(__file__).with_name("group_sparse.py"))
THEORY, PAPER = MAIN.THEORY, MAIN.PAPER
TAU, SAMPLES = 200, 200
ACCURACY = "accuracy"
COUNTS = [10, 20, 40, 60, 100, 150, 200]
RECORD = [TAU, *(TAU + m for m in COUNTS)]
FITTED = (20, 60, 100, 200)  # downstream samples of the fitted logistic regressions, 1000 steps each


def after(values: xr.DataArray) -> xr.DataArray:
    """The values with the number of downstream samples in place of the step."""
    shown = values.sel(step=[t for t in values.step.values if t > TAU and t <= TAU + SAMPLES])
    return shown.assign_coords(step=shown.step.values - TAU).rename(step="samples")


# Kinds of training

TRAINED = {
    "W frozen": ("downstream", "frozen"),
    "W trained on": ("downstream", "trained"),
    "from scratch": ("downstream", "scratch"),
    "logistic, online": ("logistic", "frozen"),
}


def kinds(names: list[str], sizes: list[tuple[int, int, int]], fits: tuple[int, ...]) -> dict[str, list]:
    """A zip over sizes (n, d, D) and kinds of training, fitted logistic regressions last."""
    rows = []
    for n, d, groups in sizes:
        rows += [(f"{name}, ({d}, {groups})", *TRAINED[name], n, d, groups, SAMPLES, TAU, TAU + SAMPLES, 0.1) for name in names]
        rows += [(f"fit {m}, ({d}, {groups})", "logistic_fit", "frozen", n, d, groups, m, 0, 1000, 1.0) for m in fits]
    fields = "run algorithm attention num_samples group_dim num_groups downstream_samples pretraining_steps steps downstream_rate"
    return {field: [row[i] for row in rows] for i, field in enumerate(fields.split())}


def of(data: xr.Dataset, kind: str, size: str = "(4, 6)") -> xr.DataArray:
    """The downstream accuracy of one kind of training against the number of samples."""
    return after(data[ACCURACY].sel(run=f"{kind}, {size}", drop=True))


def fitted(data: xr.Dataset, size: str = "(4, 6)") -> xr.DataArray:
    """The accuracy of logistic regression after 1000 steps on m samples."""
    names = [f"fit {m}, {size}" for m in FITTED]
    return data[ACCURACY].sel(run=names, step=1000, drop=True).assign_coords(run=list(FITTED)).rename(run="samples")


def gain(data: xr.Dataset, other: str, low: int, high: int) -> xr.DataArray:
    """Accuracy with W frozen minus another kind's, (d, D) = (4, 6), over numbers of samples from low to high."""
    return (of(data, "W frozen") - of(data, other)).sel(samples=slice(low, high))


def draw_downstream(data: xr.Dataset) -> plot.Drawing:
    """A panel per (d, D): accuracy against the number of samples."""
    sizes = list(dict.fromkeys(str(name).partition(", (")[2] for name in data.run.values))
    figure, axes = plot.panels(len(sizes), width=4.6, height=3.2, title=f"η₂ = .1, γ = .2, {data.sizes['seed']} seeds")
    for ax, size in zip(axes[0], [f"({s}" for s in sizes], strict=True):
        for colour, kind in enumerate(TRAINED):
            if f"{kind}, {size}" in data.run:
                plot.series(ax, of(data, kind, size), "samples", kind, colour=colour)
        if f"fit 20, {size}" in data.run:
            plot.series(ax, fitted(data, size), "samples", "logistic, fitted", colour=4)
        plot.finish(ax, "downstream samples", "downstream test accuracy", f"(d, D) = {size}")
    return figure


DOWNSTREAM = Figure(
    "groups_downstream",
    f"{PAPER}, downstream experiments; numbers are ours",
    THEORY,
    Config(),
    {
        "zip": kinds(list(TRAINED), [(500, 4, 6), (200, 2, 4)], FITTED),
        "seeds": 24,
        "steps": 1000,
        "record": [*RECORD, 1000],
        "buckets": "pad",
        "dtype": "float32",
    },
    {"zip": kinds(["W frozen"], [(500, 4, 6)], ()), "seeds": 2, "steps": TAU + SAMPLES, "record": RECORD},
    (
        Claim(
            "GS-27",
            f"{PAPER}, theorem",
            "(4, 6): with the pre-trained W frozen, accuracy beats training from scratch by .15 or more, from 20 to 100 samples.",
            "holds",
            lambda d: verdicts.at_least(gain(d, "from scratch", 20, 100), 0.15),
        ),
        Claim(
            "GS-28",
            f"{PAPER}, theorem",
            "(4, 6): it reaches .95 with 200 samples.",
            "holds",
            lambda d: verdicts.at_least(of(d, "W frozen").sel(samples=200), 0.95),
        ),
        Claim(
            "GS-29",
            f"{PAPER}, sample complexity d + D against dD",
            "(4, 6): it beats logistic regression by the same SGD, by .03 or more on average over 10 to 60 samples.",
            "holds",
            lambda d: verdicts.mean_at_least(gain(d, "logistic, online", 10, 60), 0.03),
        ),
        Claim(
            "GS-30",
            f"{PAPER}, sample complexity d + D against dD",
            "(4, 6): it beats a fitted logistic regression by .02 or more at 100 and 200 samples, too.",
            "refuted",
            lambda d: verdicts.at_least((of(d, "W frozen") - fitted(d)).sel(samples=[100, 200]), 0.02),
        ),
        Claim(
            "GS-31",
            f"{PAPER}, theorem trains W, too",
            "(4, 6): to train W on at the same rate costs accuracy on average over 100 to 200 samples.",
            "holds",
            lambda d: verdicts.mean_at_least(gain(d, "W trained on", 100, 200), 0.0),
        ),
    ),
    draw_downstream,
)

# Sizes and margins

SIZES = [(2, 4), (4, 4), (4, 8), (8, 8)]


def sizes(pairs: list[tuple[int, int]]) -> dict[str, list]:
    """A zip over (d, D)."""
    return {"size": [f"({d}, {g})" for d, g in pairs], "group_dim": [d for d, _ in pairs], "num_groups": [g for _, g in pairs]}


def errors(data: xr.Dataset) -> xr.DataArray:
    """Downstream test error, mean over seeds, against the number of samples."""
    return after(1 - data[ACCURACY]).mean("seed")


def early(data: xr.Dataset) -> xr.DataArray:
    """Its mean over 10 to 60 samples."""
    return errors(data).sel(samples=slice(10, 60)).mean("samples")


def compared(data: xr.Dataset) -> Verdict:
    """The largest ratio of early errors, W frozen over logistic, over all cells."""
    found = float((early(data).sel(algorithm="downstream") / early(data).sel(algorithm="logistic")).max())
    return Verdict(found <= 1, found, 1.0, data.sizes["seed"])


def in_margin(data: xr.Dataset) -> Verdict:
    """The largest ratio of early errors from one margin to the next."""
    found = early(data).transpose("margin", ...).values
    worst = float((found[1:] / found[:-1]).max())
    return Verdict(worst <= 0.9, worst, 0.9, data.sizes["seed"])


def in_groups(data: xr.Dataset) -> Verdict:
    """How much more the early error grows from D = 4 to 8 for logistic regression than with W frozen, d = 4: ratio of the two factors."""
    grown = early(data).sel(size="(4, 8)") / early(data).sel(size="(4, 4)")
    found = float((grown.sel(algorithm="logistic") / grown.sel(algorithm="downstream")).mean())
    return Verdict(found >= 1, found, 1.0, data.sizes["seed"])


def bound(data: xr.Dataset) -> Verdict:
    """The largest ratio of mean error, W frozen, to (d + D) log^2 m / (gamma^2 m), from 20 samples on."""
    error = errors(data).sel(algorithm="downstream", samples=slice(20, None))
    law = (data.group_dim + data.num_groups) * np.log(error.samples) ** 2 / (data.margin**2 * error.samples)
    found = float((error / law).max())
    return Verdict(found <= 0.05, found, 0.05, data.sizes["seed"])


def draw_complexity(data: xr.Dataset) -> plot.Drawing:
    """A panel per margin: error against the number of samples, solid with W frozen, dashed for logistic regression."""
    figure, axes = plot.panels(
        data.sizes["margin"], width=3.8, height=3.2, title=f"W frozen (markers) and logistic regression, {data.sizes['seed']} seeds"
    )
    for ax, gamma in zip(axes[0], data.margin.values, strict=True):
        for colour, size in enumerate(data["size"].values):
            at = {"margin": gamma, "size": size}
            plot.series(ax, after(1 - data[ACCURACY]).sel(at).sel(algorithm="downstream"), "samples", f"(d, D) = {size}", colour=colour)
            other = errors(data).sel(at).sel(algorithm="logistic")
            ax.plot(other.samples, other, linestyle=":", color=plot.COLOURS[colour], label="logistic" if colour == 0 else None)
        plot.finish(
            ax, "downstream samples", "downstream test error", f"γ = {gamma:g}", xscale="log", legend=gamma == data.margin.values[-1]
        )
        ax.set_ylim(-0.01, 0.45)
        ax.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
        ax.set_xticks([], minor=True)
    return figure


COMPLEXITY = Figure(
    "groups_complexity",
    f"{PAPER}, theorem on the downstream task",
    THEORY,
    Config(num_samples=1000, learning_rate=0.25, pretraining_steps=TAU),
    {
        "zip": sizes(SIZES),
        "vary": {"algorithm": ["downstream", "logistic"], "margin": [0.1, 0.3]},
        "seeds": 16,
        "steps": TAU + SAMPLES,
        "record": RECORD,
        "buckets": "exact",
        "dtype": "float32",
    },
    {
        "zip": sizes(SIZES[:1]),
        "vary": {"algorithm": ["downstream", "logistic"], "margin": [0.1, 0.3]},
        "config": Config(num_samples=200, learning_rate=0.25, pretraining_steps=TAU),
        "seeds": 2,
    },
    (
        Claim(
            "GS-32",
            f"{PAPER}, theorem",
            "Over 10 to 60 samples the error is below online logistic regression's in every cell.",
            "holds",
            compared,
        ),
        Claim(
            "GS-33",
            f"{PAPER}, theorem: 1/gamma^2",
            "It falls with the margin, by 10 % or more from .1 to .3, in every cell.",
            "holds",
            in_margin,
        ),
        Claim(
            "GS-34",
            f"{PAPER}, d + D against dD",
            "From D = 4 to 8 it grows by a smaller factor than logistic regression's.",
            "open",
            in_groups,
        ),
        Claim(
            "GS-35",
            f"{PAPER}, theorem",
            "From 20 samples on the error is at most .05 of the theorem's bound with constant 1, in every cell.",
            "holds",
            bound,
            minimum=2,
        ),
    ),
    draw_complexity,
)

# Laws of the features

LAWS = ["gaussian", "uniform", "rademacher"]
WAYS = ["W frozen", "from scratch", "logistic, online"]


def ways(names: list[str]) -> dict[str, list]:
    """A zip over kinds of training."""
    return {"run": names, "algorithm": [TRAINED[n][0] for n in names], "attention": [TRAINED[n][1] for n in names]}


def lead(data: xr.Dataset, other: str) -> xr.DataArray:
    """Accuracy with W frozen minus another kind's, mean over 10 to 60 samples, for every law."""
    found = after(data[ACCURACY]).sel(samples=slice(10, 60)).mean("samples")
    return found.sel(run="W frozen", drop=True) - found.sel(run=other, drop=True)


def draw_features(data: xr.Dataset) -> plot.Drawing:
    """A panel per law: accuracy against the number of samples."""
    figure, axes = plot.panels(data.sizes["features"], width=3.8, height=3.2, title=f"(d, D) = (4, 6), γ = .2, {data.sizes['seed']} seeds")
    for ax, law in zip(axes[0], data.features.values, strict=True):
        for colour, run in enumerate(data.run.values):
            plot.series(ax, after(data[ACCURACY]).sel(features=law, run=run), "samples", str(run), colour=colour)
        plot.finish(ax, "downstream samples", "downstream test accuracy", f"{law} features")
        ax.set_ylim(0.5, 1.01)
    return figure


FEATURES = Figure(
    "groups_features",
    f"{PAPER}, theorem: any sub-Gaussian law with a margin",
    THEORY,
    Config(pretraining_steps=TAU),
    {
        "zip": ways(WAYS),
        "vary": {"features": LAWS},
        "seeds": 16,
        "steps": TAU + SAMPLES,
        "record": RECORD,
        "buckets": "exact",
        "dtype": "float32",
    },
    {"zip": ways(["W frozen"]), "vary": {"features": ["rademacher"]}, "seeds": 2},
    (
        Claim(
            "GS-36",
            f"{PAPER}, theorem",
            "From Gaussian pre-training the frozen W beats training from scratch by .1 or more over 10 to 60 samples, for every law.",
            "holds",
            lambda d: verdicts.at_least(lead(d, "from scratch"), 0.1),
        ),
        Claim(
            "GS-37",
            f"{PAPER}, theorem",
            "It beats online logistic regression by .01 or more over 10 to 60 samples, for every law.",
            "holds",
            lambda d: verdicts.at_least(lead(d, "logistic, online"), 0.01),
        ),
    ),
    draw_features,
)

FIGURES = (DOWNSTREAM, COMPLEXITY, FEATURES)
