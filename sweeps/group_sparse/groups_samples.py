"""What do more samples give: attention, accuracy, and the form of W, up to the population?"""

import xarray as xr

from jaxtheory import Figure, holds, plot, statistics

from . import PAPER, THEORY, Config, N, last

POPULATION = "population"


def descents(data: xr.Dataset) -> xr.Dataset:
    """The ends of gradient descent, against n."""
    chosen = last(data).sel(run=[r for r in data.run.values if r != POPULATION])
    return chosen.drop_vars("run").assign_coords(run=chosen[N].values)


def population(data: xr.Dataset) -> xr.Dataset:
    """The ends on the population."""
    return last(data).sel(run=POPULATION, drop=True)


def falls(data: xr.Dataset) -> xr.DataArray:
    """The ratio of mean deficits from one n to four times as many samples."""
    missing = (1 - descents(data).relevant_attention).mean("seed")
    return missing / missing.shift(run=1)


def form(data: xr.Dataset) -> xr.DataArray:
    """v*^T W11 v* on the population; 0 unless the rest of W11 is above 0 on average."""
    end = population(data)
    return end.feature_attention.where(end.feature_attention_rest.mean("seed") > 0, 0.0)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Attention in t, attention, accuracy and the form of W against n."""
    figure, axes = plot.panels(
        4, width=3.4, height=3.0, title=f"d = 4, D = 6, η = .25, {data.sizes['seed']} seeds"
    )
    for colour, run in enumerate(data.run.values):
        plot.series(
            axes[0, 0],
            data.relevant_attention.sel(run=run),
            "step",
            str(run),
            colour=colour,
            markers=False,
        )
    plot.finish(axes[0, 0], "step t", r"attention on group $j^*$")
    runs = descents(data)
    lines = (
        (axes[0, 1], "relevant_attention", "mean"),
        (axes[0, 1], "relevant_attention_min", "least query"),
        (axes[0, 2], "accuracy", ""),
        (axes[0, 3], "off_structure", ""),
    )
    for ax, name, label in lines:
        colour = int(label == "least query")
        plot.series(ax, runs[name], "run", label or "gradient descent", colour=colour)
        if POPULATION in data.run and name != "off_structure":
            plot.theory(ax, 0, float(population(data)[name].mean()), "six numbers", colour=colour)
    start = runs.off_structure.isel(run=0).mean() * runs.run.values[0]
    plot.theory(axes[0, 3], runs.run.values, float(start) / runs.run.values, "1/n")
    labels = (
        r"attention on $j^*$ at the end",
        "test accuracy at the end",
        r"share of $|W|^2$ off the form",
    )
    for ax, label in zip(axes[0, 1:], labels, strict=True):
        plot.finish(
            ax, "samples n", label, xscale="log", yscale="log" if ax is axes[0, 3] else "linear"
        )
        ax.set_xticks(runs.run.values, [str(n) for n in runs.run.values])
        ax.set_xticks([], minor=True)
    return figure


FIGURE = Figure(
    name="groups_samples",
    source=f"{PAPER}, theorem; finite n is measured",
    theory=THEORY,
    config=Config(learning_rate=0.25),
    sweep={
        "zip": {
            "run": ["n = 125", "n = 500", "n = 2000", POPULATION],
            N: [125, 500, 2000, 8000],
            "algorithm": ["gd"] * 3 + ["population"],
        },
        "seeds": 8,
        "steps": 500,
        "record": [0, 10, 20, 30, 50, 75, 100, 150, 200, 250, 300, 400, 500],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick={
        "zip": {"run": ["n = 125", "n = 500"], N: [125, 500], "algorithm": ["gd"] * 2},
        "seeds": 2,
        "steps": 100,
        "record": [0, 10, 30, 100],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        holds(
            "GS-10",
            "derived",
            "measured",
            "What is missing from 1 falls with each fourfold n, by 5 % or more.",
            falls,
            at_most=0.95,
        ),
        holds(
            "GS-11",
            "derived",
            "derived: sampling noise",
            "The share of |W|^2 off the population's form falls as 1/n.",
            lambda d: statistics.slope(descents(d).off_structure, "run"),
            between=(-1.3, -0.7),
        ),
        holds(
            "GS-12",
            "reading",
            f"{PAPER}, theorem: selection",
            "On the population (8000 samples and their symmetries) attention exceeds .95 by t = "
            "500.",
            lambda d: population(d).relevant_attention,
            at_least=0.95,
        ),
        holds(
            "GS-13",
            "derived",
            "derived",
            "There W11 does not vanish, nor is it a multiple of I: v*^T W11 v* is below -.2, the "
            "rest above 0.",
            form,
            at_most=-0.2,
        ),
    ),
)
