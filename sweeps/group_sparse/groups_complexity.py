"""How does the downstream error depend on the sizes (d, D), the margin and the number
of samples?
"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, Size, holds, plot, undecided

from . import DOWNSTREAM, PAPER, TAU, THEOREM, THEORY, Config, D, accuracy, table, ticks

CONFIG = Config(num_samples=1000, learning_rate=0.25, pretraining_steps=TAU)
SIZES = [(f"({d}, {groups})", d, groups) for d, groups in ((2, 4), (4, 4), (4, 8), (8, 8))]
FIELDS = f"size group_dim {D}"


def errors(data: xr.Dataset) -> xr.DataArray:
    """Downstream test error, mean over seeds, against the number of samples."""
    return (1 - accuracy(data)).mean("seed")


def early(data: xr.Dataset) -> xr.DataArray:
    """Its mean over 10 to 60 samples."""
    return errors(data).sel(samples=slice(10, 60)).mean("samples")


def compared(values: xr.DataArray) -> xr.DataArray:
    """The ratio of values, W frozen over logistic."""
    return values.sel(algorithm="downstream", drop=True) / values.sel(
        algorithm="logistic", drop=True
    )


def in_groups(data: xr.Dataset) -> xr.DataArray:
    """How much more the early error grows from D = 4 to 8 for logistic regression than with W
    frozen, d = 4: ratio of the two factors.
    """
    grown = early(data).sel(size="(4, 8)", drop=True) / early(data).sel(size="(4, 4)", drop=True)
    return (1 / compared(grown)).mean()


def of_bound(data: xr.Dataset) -> xr.DataArray:
    """The ratio of mean error, W frozen, to (d + D) log^2 m / (gamma^2 m), from 20 samples on."""
    error = errors(data).sel(algorithm="downstream", samples=slice(20, None))
    return error / (
        (data.group_dim + data[D]) * np.log(error.samples) ** 2 / (data.margin**2 * error.samples)
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """A panel per margin: error against the number of samples, solid with W frozen, dotted for
    logistic regression.
    """
    title = f"W frozen (markers) and logistic regression, {data.sizes['seed']} seeds"
    figure, axes = plot.panels(data.sizes["margin"], width=3.8, height=3.2, title=title)
    for ax, gamma in zip(axes[0], data.margin.values, strict=True):
        for colour, size in enumerate(data["size"].values):
            runs = data.sel(margin=gamma, size=size)
            frozen = 1 - accuracy(runs).sel(algorithm="downstream")
            plot.series(ax, frozen, "samples", f"(d, D) = {size}", colour=colour)
            other = errors(runs).sel(algorithm="logistic")
            label = None if colour else "logistic"
            ax.plot(other.samples, other, ":", color=plot.COLOURS[colour], label=label)
        labels = "downstream samples", "downstream test error", f"γ = {gamma:g}"
        plot.finish(ax, *labels, xscale="log", legend=gamma == data.margin[-1])
        ax.set_ylim(-0.01, 0.45)
        ticks(ax.xaxis, [10, 20, 50, 100, 200])
    return figure


FIGURE = Figure(
    name="groups_complexity",
    source=f"{PAPER}, theorem on the downstream task",
    theory=THEORY,
    config=CONFIG,
    sweep={
        **DOWNSTREAM,
        "zip": table(FIELDS, SIZES),
        "vary": {"algorithm": ["downstream", "logistic"], "margin": [0.1, 0.3]},
    },
    quick={
        "zip": table(FIELDS, SIZES[:1]),
        "config": CONFIG.replace(num_samples=Size(200)),
        "seeds": 2,
    },
    draw=draw,
    claims=(
        holds(
            "GS-32",
            *THEOREM,
            "Over 10 to 60 samples the error is below online logistic regression's in every cell.",
            lambda d: compared(early(d)),
            at_most=1.0,
        ),
        holds(
            "GS-33",
            "reading",
            f"{PAPER}, theorem: 1/gamma^2",
            "It falls with the margin, by 10 % or more from .1 to .3, in every cell.",
            lambda d: early(d) / early(d).shift(margin=1),
            at_most=0.9,
        ),
        undecided(
            "GS-34",
            "reading",
            f"{PAPER}, d + D against dD",
            "From D = 4 to 8 it grows by a smaller factor than logistic regression's.",
            in_groups,
            at_least=1.0,
        ),
        holds(
            "GS-35",
            *THEOREM,
            "From 20 samples on the error is at most .05 of the theorem's bound with constant 1, "
            "in every cell.",
            of_bound,
            at_most=0.05,
            minimum=2,
        ),
    ),
)
