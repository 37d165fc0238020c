"""Up to which step size does gradient descent still select the group, for growing D?

On samples it does up to about eta D^2 = 24; on the population (six numbers on samples completed by
their symmetries) one eta serves all D.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation, last

from . import ETA, PAPER, SWEEP, THEORY, Config, D, table

PANELS = {
    "relevant_attention": r"attention on group $j^*$",
    "off_structure": r"share of $|W|^2$ off the form",
    "accuracy": "test accuracy",
}


FIELDS = f"cell {D} {ETA} algorithm"
ONE = 0.625  # eta D^2 = 40 at D = 8


def cells(groups: tuple[int, ...], products: tuple[int, ...]) -> dict[str, list]:
    """A zip over D and eta D^2, for gradient descent."""
    return table(FIELDS, [(f"{g}, {p}", g, p / g**2, "gd") for g in groups for p in products])


def full() -> dict[str, list]:
    """Those, and the population at one eta."""
    population = [(f"{g}, population", g, ONE, "population") for g in (4, 8, 12)]
    rows, more = cells((4, 8, 12), (8, 16, 24, 40)), table(FIELDS, population)
    return {name: values + more[name] for name, values in rows.items()}


def product(data: Any) -> xr.DataArray:
    """eta D^2, rounded."""
    return (data[ETA] * data[D] ** 2).round()


def ends(data: xr.Dataset, chosen: xr.DataArray, algorithm: str = "gd") -> xr.Dataset:
    """The chosen cells of an algorithm at the end."""
    return last(data).isel(cell=np.flatnonzero(chosen & (data.algorithm == algorithm)))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Attention, the form of W and accuracy against eta D^2, a color per D; the population."""
    at = f"d = 4, t = {int(data.step[-1])}"
    figure, axes = plot.panels(3, height=3.0, title=f"n = 1000, {at}")
    counts = np.unique(data[D])
    population = ends(data, data[D] > 0, "population")
    for ax, (name, label) in zip(axes[0], PANELS.items(), strict=True):
        for color, groups in zip(plot.shades(len(counts)), counts, strict=True):
            runs = ends(data, data[D] == groups)
            values = runs[name].assign_coords(cell=product(runs).values)
            plot.series(ax, values, "cell", f"D = {groups}", color=color)
        if population.sizes["cell"]:
            values = population[name].assign_coords(cell=product(population).values)
            plot.series(ax, values, "cell", f"population, η = {ONE:g}", color=1)
        plot.finish(ax, r"$\eta D^2$", label, legend=False, xscale="log")
        plot.ticks(ax.xaxis, np.unique(product(data)))
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="groups_stability",
    source=f"{PAPER}, theorem: eta of order 1 for growing D",
    finding=Finding(
        "On the population η = 0.625 gives the relevant group at least 0.9 of the attention at t = 400 for D = 4, 8, 12",
        rests_on=("GS-15",),
    ),
    theory=THEORY,
    config=Config(num_samples=1000),
    sweep={
        **SWEEP,
        "zip": full(),
        "steps": 400,
        "record": [0, 20, 50, 100, 200, 400],
    },
    quick={
        "zip": cells((8,), (16, 40)),
        "config": Config(num_samples=500),
        "seeds": 2,
        "steps": 100,
        "record": [0, 20, 50, 100],
    },
    draw=draw,
    claims=(
        Claim(
            "GS-15",
            origin=interpretation(PAPER, "theorem"),
            statement="eta of order 1 is read as: on the population, eta = 0.625 selects the group for D = 4, 8 and 12, with an attention of at least 0.9 at t = 400.",
            measure=Measure(
                "mean attention on group j*, t = 400, population, η = 0.625, each D",
                lambda d: ends(d, d[ETA] == ONE, "population").relevant_attention,
            ),
            bound=at_least(0.9),
            panel=0,
            why="A constant step size for all numbers of groups is what makes the number of steps in the theorem short.",
        ),
    ),
)
