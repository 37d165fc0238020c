"""What do more samples give: attention, accuracy, and the form of W, up to the population?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, fitted_law, interpretation, last

from . import PAPER, SWEEP, THEORY, Config, N, table

POPULATION = "population"
RUNS = [(f"n = {n}", n, "gd") for n in (125, 500, 2000)]
FIELDS = f"run {N} algorithm"


def descents(data: xr.Dataset) -> xr.Dataset:
    """The ends of gradient descent, against n."""
    chosen = last(data).sel(run=[r for r in data.run.values if r != POPULATION])
    return chosen.drop_vars("run").assign_coords(run=chosen[N].values)


def population(data: xr.Dataset) -> xr.Dataset:
    """The ends on the population."""
    return last(data).sel(run=POPULATION, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Attention in t, attention, accuracy and the form of W against n."""
    figure, ((curves, *panels),) = plot.panels(
        4, width=3.4, height=3.0, title="d = 4, D = 6, η = 0.25"
    )
    for color, run in enumerate(data.run.values):
        values = data.relevant_attention.sel(run=run)
        plot.series(curves, values, "step", str(run), color=color, markers=False)
    plot.finish(curves, "step t", r"attention on group $j^*$")
    attention, classified, form = panels
    runs = descents(data)
    n = runs.run.values
    for ax, name, label, color in (
        (attention, "relevant_attention", "mean", 0),
        (attention, "relevant_attention_min", "least query", 1),
        (classified, "accuracy", "gradient descent", 0),
        (form, "off_structure", "gradient descent", 0),
    ):
        fitted = f", {plot.law(ax, fitted_law(runs[name], 'run'))}" if ax is form else ""
        plot.series(ax, runs[name], "run", label + fitted, color=color)
        if POPULATION in data.run and ax is not form:
            plot.theory(ax, 0, float(population(data)[name].mean()), "population", color=color)
    plot.theory(form, n, float(runs.off_structure.isel(run=0).mean() * n[0]) / n, "1/n")
    for ax, label, scale in (
        (attention, r"attention on $j^*$ at the end", "linear"),
        (classified, "test accuracy at the end", "linear"),
        (form, r"share of $|W|^2$ off the form", "log"),
    ):
        plot.finish(ax, "samples n", label, xscale="log", yscale=scale)
        plot.ticks(ax.xaxis, n)
    return figure


FIGURE = Figure(
    name="groups_samples",
    source=f"{PAPER}, theorem; finite n is measured",
    finding=Finding(
        "On the population the relevant group has at least 0.95 of the attention at t = 500 (d = 4, D = 6, η = 0.25)",
        rests_on=("GS-12",),
    ),
    theory=THEORY,
    config=Config(learning_rate=0.25),
    sweep={
        **SWEEP,
        "zip": table(FIELDS, [*RUNS, (POPULATION, 8000, "population")]),
        "steps": 500,
        "record": [0, 10, 20, 30, 50, 75, 100, 150, 200, 250, 300, 400, 500],
    },
    quick={
        "zip": table(FIELDS, RUNS[:2]),
        "seeds": 2,
        "steps": 100,
        "record": [0, 10, 30, 100],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "GS-12",
            origin=interpretation(PAPER, "theorem: selection"),
            statement="“Self-attention extracts the variables from the label-relevant group” is read as: the attention is above 0.95 by t = 500 on the population (8000 samples and their symmetries).",
            measure=Measure(
                "mean attention on the relevant group at t = 500, population",
                lambda d: population(d).relevant_attention,
            ),
            bound=at_least(0.95),
            panel=1,
            why="Variable selection is the title of the paper, and on the population it is nearly complete.",
        ),
    ),
)
