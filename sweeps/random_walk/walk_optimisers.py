"""Does attention still select the parent with momentum, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Figure, holds, optimisers, plot

from . import CIRCLE6, ETA, OF_V, THEORY, Measure, V, right, share

RATES = {
    "sgd": [0.25, 1.0, 4.0],
    "momentum": [0.025, 0.1, 0.4],
    "sgd_cosine": [0.5, 2.0, 8.0],
    "adam": [0.02, 0.1, 0.5],
    "adam_literal": [3e-4, 3e-3, 3e-2],
}
SIGMA, CHANCE = "init_scale", 0.7
MIDDLE = {algorithm: rates[1:2] for algorithm, rates in RATES.items()}
LABELS = optimisers.LABELS | {"adam": "Adam on u, w", "adam_literal": "Adam on W"}
LINEAR = ("sgd", "momentum", "sgd_cosine")
SELECT = "the parent has the most attention, and the accuracy is optimal"


def of(measure: Measure, *algorithms: str, rates: slice = slice(None)) -> Measure:
    """A measure of the runs of some algorithms, all or some of their rates."""
    return lambda data: xr.concat(
        [
            optimisers.of(measure(data), ETA, name).isel(rate=rates).drop_vars("rate")
            for name in algorithms
        ],
        "algorithm",
    )


def solved(data: xr.Dataset) -> xr.DataArray:
    """Whether a run ended with most attention on the parent and the best accuracy."""
    return right(data) & (abs(data.accuracy.isel(step=-1) - CHANCE) < 1e-5)


def equal_values(data: xr.Dataset) -> xr.DataArray:
    """How far V is from 11^T after one step: its direction error less that of 11^T, whose cosine
    with Pi^T is (K (p^2 + (1 - p)^2))^(-1/2). From the zero start.
    """
    cosine = (6 * (CHANCE**2 + (1 - CHANCE) ** 2)) ** -0.5
    return abs(data[V].sel({"step": 1, SIGMA: 0.0}, drop=True) - (2 - 2 * cosine) ** 0.5)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Share of runs that select the parent and predict optimally against the learning rate, from
    both starts; attention and the direction of V in t at the middle rates, from the zero start.
    """
    title = f"K = 6, N = 33, p = {CHANCE:g}, t = {int(data.step[-1])}, {data.sizes['seed']} seeds"
    figure, axes = plot.panels(4, title=title, width=3.4, height=3.4)
    for ax, sigma in zip(axes[0], data[SIGMA].values, strict=False):
        shown = solved(data).sel({SIGMA: sigma}).astype(float)
        optimisers.against_rate(ax, shown, ETA, LABELS)
        ax.set_ylim(-0.05, 1.05)
        start = "zero start" if sigma == 0 else f"start of σ = {sigma:g}"
        plot.finish(
            ax, "learning rate", "share, parent and optimum", start, xscale="log", legend=False
        )
    shown = {"parent_attention": "attention on the parent", V: OF_V}
    for ax, (name, label) in zip(axes[0, 2:], shown.items(), strict=True):
        for colour, algorithm in enumerate(LABELS):
            curve = optimisers.of(data[name].sel({SIGMA: 0.0}), ETA, algorithm)
            middle = curve.isel(rate=curve.sizes["rate"] // 2, drop=True)
            plot.series(ax, middle, "step", LABELS[algorithm], colour=colour)
        plot.finish(ax, "step t", label, "zero start, middle rates", legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="walk_optimisers",
    source="derived: the talk's theorem beyond plain gradient descent",
    theory=THEORY,
    config=CIRCLE6.replace(
        length=33, encoding_dim=200, clockwise_probability=CHANCE, decay_steps=100
    ),
    sweep={
        "zip": optimisers.runs(ETA, RATES),
        "vary": {SIGMA: [0.0, 0.01]},
        "seeds": 8,
        "steps": 100,
        "record": [0, 1, 3, 10, 30, 60, 100],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick={"zip": optimisers.runs(ETA, MIDDLE), "seeds": 2},
    draw=draw,
    claims=(),
)
