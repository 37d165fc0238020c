"""How does the downstream error depend on the sizes (d, D), the margin and the number
of samples?
"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, undecided

from . import ACCURACY, DOWNSTREAM, PAPER, TAU, THEORY, Config, D, after

SIZES = [(2, 4), (4, 4), (4, 8), (8, 8)]
WAYS = {"algorithm": ["downstream", "logistic"], "margin": [0.1, 0.3]}


def sizes(pairs: list[tuple[int, int]]) -> dict[str, list]:
    """A zip over (d, D)."""
    return {
        "size": [f"({d}, {g})" for d, g in pairs],
        "group_dim": [d for d, _ in pairs],
        D: [g for _, g in pairs],
    }


def errors(data: xr.Dataset) -> xr.DataArray:
    """Downstream test error, mean over seeds, against the number of samples."""
    return after(1 - data[ACCURACY]).mean("seed")


def early(data: xr.Dataset) -> xr.DataArray:
    """Its mean over 10 to 60 samples."""
    return errors(data).sel(samples=slice(10, 60)).mean("samples")


def compared(values: xr.DataArray) -> xr.DataArray:
    """The ratio of values, W frozen over logistic."""
    return values.sel(algorithm="downstream", drop=True) / values.sel(
        algorithm="logistic", drop=True
    )


def in_margin(data: xr.Dataset) -> xr.DataArray:
    """The ratio of early errors from one margin to the next."""
    return early(data) / early(data).shift(margin=1)


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
    """A panel per margin: error against the number of samples, solid with W frozen, dashed for
    logistic regression.
    """
    title = f"W frozen (markers) and logistic regression, {data.sizes['seed']} seeds"
    figure, axes = plot.panels(data.sizes["margin"], width=3.8, height=3.2, title=title)
    last = data.margin.values[-1]
    for ax, gamma in zip(axes[0], data.margin.values, strict=True):
        for colour, size in enumerate(data["size"].values):
            runs = data.sel(margin=gamma, size=size)
            plot.series(
                ax,
                after(1 - runs[ACCURACY]).sel(algorithm="downstream"),
                "samples",
                f"(d, D) = {size}",
                colour=colour,
            )
            other = errors(runs).sel(algorithm="logistic")
            ax.plot(
                other.samples,
                other,
                linestyle=":",
                color=plot.COLOURS[colour],
                label="logistic" if colour == 0 else None,
            )
        plot.finish(
            ax,
            "downstream samples",
            "downstream test error",
            f"γ = {gamma:g}",
            xscale="log",
            legend=gamma == last,
        )
        ax.set_ylim(-0.01, 0.45)
        ax.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
        ax.set_xticks([], minor=True)
    return figure


FIGURE = Figure(
    name="groups_complexity",
    source=f"{PAPER}, theorem on the downstream task",
    theory=THEORY,
    config=Config(num_samples=1000, learning_rate=0.25, pretraining_steps=TAU),
    sweep={"zip": sizes(SIZES), "vary": WAYS, **DOWNSTREAM},
    quick={
        "zip": sizes(SIZES[:1]),
        "vary": WAYS,
        "config": Config(num_samples=200, learning_rate=0.25, pretraining_steps=TAU),
        "seeds": 2,
    },
    draw=draw,
    claims=(
        holds(
            "GS-32",
            "reading",
            f"{PAPER}, theorem",
            "Over 10 to 60 samples the error is below online logistic regression's in every cell.",
            lambda d: compared(early(d)),
            at_most=1.0,
        ),
        holds(
            "GS-33",
            "reading",
            f"{PAPER}, theorem: 1/gamma^2",
            "It falls with the margin, by 10 % or more from .1 to .3, in every cell.",
            in_margin,
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
            "reading",
            f"{PAPER}, theorem",
            "From 20 samples on the error is at most .05 of the theorem's bound with constant 1, "
            "in every cell.",
            of_bound,
            at_most=0.05,
            minimum=2,
        ),
    ),
)
