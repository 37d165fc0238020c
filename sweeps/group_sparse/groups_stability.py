"""Up to which step size does gradient descent still select the group, for growing D?"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted

from . import ETA, MEASURED, PAPER, SWEEP, THEOREM, THEORY, Config, D, last, table

PANELS = {
    "relevant_attention": r"attention on group $j^*$",
    "off_structure": r"share of $|W|^2$ off the form",
    "accuracy": "test accuracy",
}


def cells(groups: tuple[int, ...], products: tuple[int, ...]) -> dict[str, list]:
    """A zip over D and eta D^2."""
    return table(f"cell {D} {ETA}", [(f"{g}, {p}", g, p / g**2) for g in groups for p in products])


def product(data: Any) -> xr.DataArray:
    """eta D^2, rounded."""
    return (data[ETA] * data[D] ** 2).round()


def ends(data: xr.Dataset, chosen: xr.DataArray) -> xr.Dataset:
    """The chosen cells at the end."""
    return last(data).isel(cell=np.flatnonzero(chosen))


def beyond(data: xr.Dataset) -> xr.Dataset:
    """The ends at eta D^2 = 40, D = 8 and 12."""
    return ends(data, (data[D] > 4) & (product(data) == 40))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Attention, the form of W and accuracy against eta D^2, a colour per D."""
    title = f"n = 1000, d = 4, t = {int(data.step[-1])}, {data.sizes['seed']} seeds"
    figure, axes = plot.panels(3, height=3.0, title=title)
    for ax, (name, label) in zip(axes[0], PANELS.items(), strict=True):
        for colour, groups in enumerate(np.unique(data[D])):
            runs = ends(data, data[D] == groups)
            values = runs[name].assign_coords(cell=product(runs).values)
            plot.series(ax, values, "cell", f"D = {groups}", colour=colour)
        plot.finish(ax, r"$\eta D^2$", label)
        ax.set_xticks(np.unique(product(data)))
    return figure


FIGURE = Figure(
    name="groups_stability",
    source=f"{PAPER}, theorem: eta of order 1 for growing D",
    theory=THEORY,
    config=Config(num_samples=1000),
    sweep={
        **SWEEP,
        "zip": cells((4, 8, 12), (8, 16, 24, 40)),
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
        holds(
            "GS-14",
            *MEASURED,
            "Up to eta D^2 = 16 gradient descent selects, for D = 4, 8 and 12: attention of at "
            "least .8 on average.",
            lambda d: ends(d, product(d) <= 16).relevant_attention,
            at_least=0.8,
        ),
        refuted(
            "GS-15",
            *THEOREM,
            "A step size that selects for D = 4 selects for D = 8: eta = .625, attention of at "
            "least .8.",
            lambda d: ends(d, (d[D] == 8) & (product(d) == 40)).relevant_attention,
            at_least=0.8,
        ),
        holds(
            "GS-16",
            *MEASURED,
            "At eta D^2 = 40 and D = 8, 12 attention ends near chance: at most .3 on average.",
            lambda d: beyond(d).relevant_attention,
            at_most=0.3,
        ),
        holds(
            "GS-17",
            *MEASURED,
            "These runs classify all the same: test accuracy of at least .92.",
            lambda d: beyond(d).accuracy,
            at_least=0.92,
        ),
    ),
)
