"""Transfer in arXiv 2410.23438: what one step of A from a pre-trained V recovers, and how training goes on from there.

The batch of the one step is gathered over tau steps of B samples, so that all numbers of samples tau B share their draws.
"""

from pathlib import Path

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, verdicts
from jaxtheory.theories.contextual_bigram import Config

MAIN = jaxtheory.theories.load(Path(__file__).with_name("contextual_bigram.py"))
THEORY, PAPER, last = MAIN.THEORY, MAIN.PAPER, MAIN.last
each_at_least, each_at_most = MAIN.each_at_least, MAIN.each_at_most
RHO, THRESHOLD = "correlation", 0.5  # the threshold lies half-way between 0 and the largest attended entry

SMALL = Config(length=500, batch_size=256, stage_threshold=THRESHOLD)
QUICK = {"config": SMALL, "seeds": 2}  # two runs a problem: one compilation


# One step


def after_step(data: xr.Dataset, name: str, cut: bool) -> xr.DataArray:
    """A metric after the one step, with or without the threshold; `predicted_` ones, too."""
    values = data[name].sel(l1=1e-5 if cut else 0.0, drop=True)
    return values.sel(step=data.steps).drop_vars(["step", "steps", "switch_step"], errors="ignore")


def recovery(data: xr.Dataset) -> xr.DataArray:
    """The share of columns whose support is recovered exactly."""
    return after_step(data, "support_match", True)


def law(data: xr.Dataset) -> xr.DataArray:
    """Its law per task."""
    return after_step(data, "predicted_support_match_one_step", True)


def spread(data: xr.Dataset) -> xr.DataArray:
    """Standard deviation of the entries off the support."""
    return after_step(data, "off_support_std", False)


def gap(data: xr.Dataset) -> xr.DataArray:
    """Mean recovery minus mean law from 1024 samples on."""
    return (recovery(data) - law(data)).mean("seed").sel(samples=slice(1000, None))


def surprise(data: xr.Dataset) -> xr.DataArray:
    """|gap| in standard errors of independent columns."""
    p = law(data)
    return abs(gap(data)) / ((p * (1 - p)).mean("seed") / (3 * data.sizes["seed"]) + 1e-9) ** 0.5


def draw_transfer(data: xr.Dataset) -> plot.Drawing:
    """Recovery, and the spread off the support, against the number of samples; dashed: their laws."""
    figure, axes = plot.panels(2, title=f"One step from a pre-trained V, {data.sizes['seed']} tasks", width=4.0, height=3.2)
    cells = [(r, t) for r in data[RHO].values for t in data.length.values]
    for ax, values, theory in (
        (axes[0, 0], recovery(data), law(data)),
        (axes[0, 1], spread(data), after_step(data, "predicted_off_support_std_one_step", False)),
    ):
        for colour, (rho, t) in enumerate(cells):
            at = {RHO: rho, "length": t}
            plot.series(ax, values.sel(at), "samples", f"ρ = {rho:g}, T = {t}", colour=colour)
            plot.theory(ax, data.samples.values, theory.sel(at).mean("seed"), "law" if not colour else "", colour=colour)
    plot.finish(axes[0, 0], "samples of the step, τB", "columns with the exact support", "threshold: half the largest entry", xscale="log")
    plot.finish(
        axes[0, 1],
        "samples of the step, τB",
        "standard deviation off the support",
        "the same for every T",
        xscale="log",
        yscale="log",
        legend=False,
    )
    for ax in axes[0]:
        ax.set_xticks(data.samples.values, [str(v) for v in data.samples.values])
        ax.set_xticks([], minor=True)
    return figure


def same_spread(data: xr.Dataset) -> Verdict:
    """The largest |ratio - 1| of the mean spreads at the longest and the shortest context."""
    mean = spread(data).mean("seed")
    gap = abs(mean.isel(length=-1) / mean.isel(length=0) - 1)
    return Verdict(float(gap.max()) <= 0.03, float(gap.max()), 0.03, data.sizes["seed"])


TRANSFER = Figure(
    "bigram_transfer",
    f"{PAPER}, section 4 and appendix H",
    THEORY,
    Config(batch_size=256, stage_threshold=THRESHOLD),
    {
        "algorithm": "transfer",
        "zip": {"samples": [256, 1024, 4096], "switch_step": [1, 4, 16], "steps": [1, 4, 16]},
        "vary": {RHO: [1.0, 0.83], "length": [500, 4000], "l1": [0.0, 1e-5]},
        "seeds": 24,
        "steps": 16,
        "record": [0, 1, 4, 16],
        "dtype": "float32",
    },
    QUICK | {"zip": {"samples": [4096], "switch_step": [16], "steps": [16]}, "vary": {"l1": [0.0, 1e-5], "length": [500], RHO: [1.0]}},
    (
        Claim(
            "CB-48",
            f"{PAPER}, theorem on transfer",
            "4096 samples recover every column's support in one step, on every task, for T = 500 and 4000.",
            "refuted",
            lambda d: each_at_least(recovery(d).sel(samples=4096), 1.0),
        ),
        Claim(
            "CB-49",
            "derived: it takes sqrt(2 log T) standard deviations below the threshold, which depend on the task",
            "They recover 97 % of the columns, on average, of the tasks on which the law expects .99 or more.",
            "holds",
            lambda d: verdicts.mean_at_least(recovery(d).where(law(d) >= 0.99).sel(samples=4096), 0.97),
        ),
        Claim(
            "CB-50",
            "derived, lemma H.2 bounds it",
            "Off the support the standard deviation is that of the formula, within 3 % on average, in every cell.",
            "holds",
            lambda d: each_at_most(
                abs((spread(d) / after_step(d, "predicted_off_support_std_one_step", False)).mean("seed") - 1), 0.03, d.sizes["seed"]
            ),
            minimum=2,
        ),
        Claim("CB-51", f"{PAPER}, theorem on transfer", "It does not depend on T: within 3 % from T = 500 to 4000.", "holds", same_spread),
        Claim(
            "CB-52",
            "derived, for independent entries of one variance",
            "The mean recovery of 4096 samples is that of the law within .15, in every cell.",
            "holds",
            lambda d: each_at_most(abs(gap(d)).sel(samples=4096), 0.15, d.sizes["seed"]),
        ),
        Claim(
            "CB-53",
            "derived, for independent entries of one variance",
            "From 1024 samples on within 4 standard errors, in every cell.",
            "holds",
            lambda d: each_at_most(surprise(d), 4.0, d.sizes["seed"]),
        ),
    ),
    draw_transfer,
)

# Stage two after it

PRE, PLAIN, SCRATCH = "transfer", "transfer, λ = 0", "proximal from the trivial V"


def likely(data: xr.Dataset) -> xr.DataArray:
    """Tasks on which the law expects the one step to recover 95 % of the columns or more."""
    return data.predicted_support_match_one_step.isel(step=0).sel(run=PRE, drop=True) >= 0.95


def end(name: str, run: str, data: xr.Dataset) -> xr.DataArray:
    """The last value of a metric, or an analysis, of one kind of run; NaN on the other tasks."""
    values = last(data[name]) if "step" in data[name].dims else data[name]
    return values.sel(run=run, drop=True).where(likely(data))


def at_200(run: str, data: xr.Dataset) -> xr.DataArray:
    """Excess loss over the initial one after 200 steps."""
    return data.relative_excess_loss.sel(step=200, run=run, drop=True).where(likely(data))


def draw_pretrained(data: xr.Dataset) -> plot.Drawing:
    """Distance, cosine and excess loss in t from both starts; rounded distances, a mark per run."""
    tasks = f"{int(likely(data).sum())} of {data.sizes['seed']} tasks, those of law ≥ .95"
    figure, axes = plot.panels(4, title=f"After one step from a pre-trained V{MAIN.at(PRETRAINED, data)}: {tasks}", width=3.3)
    data = data.where(likely(data))
    for ax, (name, label) in zip(axes[0], list(MAIN.CURVES.items())[:3], strict=False):
        for colour, run in enumerate(data.run.values):
            values = data[name].sel(run=run).dropna("seed", how="all")
            plot.series(ax, values, "step", str(run), colour=colour, seeds=True, markers=False)
        plot.finish(ax, "step t", label, yscale="log" if name == "relative_excess_loss" else "linear", legend=name == "attention_cosine")
    for colour, run in enumerate(data.run.values):
        for place, name in enumerate(("rounded_attention_distance", "rounded_value_distance")):
            values = np.maximum(data[name].sel(run=run), 1e-5)
            axes[0, 3].plot(
                np.full(values.size, place + 0.15 * colour),
                values,
                plot.MARKERS[colour],
                color=plot.COLOURS[colour],
                alpha=0.6,
                label="" if place else str(run),
            )
    axes[0, 3].set_xticks([0.07, 1.07], [r"$\|A - Q\|_\mu$", r"$\|V - P\|_\mu$"])
    plot.finish(axes[0, 3], "", "distance after rounding", "V: best for A (oracle)", yscale="log", legend=False)
    return figure


PRETRAINED = Figure(
    "bigram_pretrained",
    f"{PAPER}, section 4 and appendix H",
    THEORY,
    Config(length=500, batch_size=64, stage_threshold=THRESHOLD),
    {
        "zip": {
            "run": [PRE, PLAIN, SCRATCH],
            "algorithm": ["transfer", "transfer", "proximal"],
            "switch_step": [64, 64, 400],
            "l1": [1e-5, 0.0, 1e-5],
        },
        "seeds": 16,
        "steps": 664,
        "record": [0, 32, 64, *range(100, 664, 50), 664],
        "dtype": "float32",
    },
    QUICK
    | {
        "zip": {"run": [PRE, PLAIN], "algorithm": ["transfer"] * 2, "switch_step": [16] * 2, "l1": [1e-5, 0.0]},
        "steps": 30,
        "record": [0, 8, 16, 23, 30],
    },
    (
        Claim(
            "CB-54",
            f"{PAPER}, section 4",
            "After 200 steps of 64 samples at most .15 of the excess loss is left, each.",
            "holds",
            lambda d: each_at_most(at_200(PRE, d), 0.15),
        ),
        Claim(
            "CB-55",
            f"{PAPER}, section 4",
            "From the trivial V more than .8 is left, each.",
            "holds",
            lambda d: each_at_least(at_200(SCRATCH, d), 0.8),
        ),
        Claim(
            "CB-56",
            f"{PAPER}, appendix H",
            "600 steps after the one step rounding recovers the support of 90 % of the columns or more.",
            "holds",
            lambda d: verdicts.mean_at_least(end("support_recovery", PRE, d), 0.9),
        ),
        Claim(
            "CB-57",
            f"{PAPER}, appendix H",
            "Rounded, A is within .1 of Q, median.",
            "holds",
            lambda d: MAIN.median_at_most(end("rounded_attention_distance", PRE, d), 0.1),
        ),
        Claim(
            "CB-58",
            f"{PAPER}, appendix H",
            "And the best V for it within .03 of P, each.",
            "holds",
            lambda d: each_at_most(end("rounded_value_distance", PRE, d), 0.03),
        ),
        Claim(
            "CB-59",
            f"{PAPER}, section 3.4",
            "Early stopping pays here, too: the excess loss ends at 1.3 times its least value or more, median.",
            "holds",
            lambda d: MAIN.median_at_least(end("excess_loss", PRE, d) / d.excess_loss.sel(run=PRE).min("step"), 1.3),
        ),
    ),
    draw_pretrained,
)

FIGURES = (TRANSFER, PRETRAINED)
