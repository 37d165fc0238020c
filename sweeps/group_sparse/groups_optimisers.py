"""Does attention still select the relevant group with momentum, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Figure, optimisers, plot

from . import DERIVED, ETA, PAPER, SWEEP, THEORY, Config, last

RATES = {
    "sgd": [0.1, 0.25, 0.5],
    "momentum": [0.01, 0.025, 0.05],
    "sgd_cosine": [0.2, 0.35, 0.5],
    "adam": [0.01, 0.03, 0.1],
}
MIDDLE = {algorithm: rates[1:2] for algorithm, rates in RATES.items()}
PANELS = {
    "relevant_attention": r"attention on group $j^*$",
    "value_cosine": r"cosine of $v_1$ and $v^*$",
    "test_loss": "test loss",
}


def of(data: xr.Dataset, name: str, *algorithms: str) -> xr.DataArray:
    """A metric at the end in the runs of some algorithms, slowest rate first."""
    return xr.concat(
        [optimisers.of(last(data[name]), ETA, a).drop_vars("rate") for a in algorithms], "algorithm"
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Three metrics at the end against the learning rate, and attention in t at the middle rates."""
    title = f"(n, d, D) = (500, 4, 6), {data.sizes['seed']} seeds"
    figure, axes = plot.panels(4, title=title, width=3.4, height=3.4)
    for ax, (name, label) in zip(axes[0], PANELS.items(), strict=False):
        optimisers.against_rate(ax, last(data[name]), ETA)
        plot.finish(ax, "learning rate", label, f"t = {int(data.step[-1])}", xscale="log", legend=False)
    for colour, (name, label) in enumerate(optimisers.LABELS.items()):
        curve = optimisers.of(data.relevant_attention, ETA, name)
        middle = curve.isel(rate=curve.sizes["rate"] // 2, drop=True)
        plot.series(axes[0, 3], middle, "step", label, colour=colour)
    plot.finish(axes[0, 3], "step t", PANELS["relevant_attention"], "middle rates", legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="groups_optimisers",
    source=f"derived: {PAPER}, theorem, beyond plain gradient descent",
    theory=THEORY,
    config=Config(decay_steps=200),
    sweep={
        **SWEEP,
        "zip": optimisers.runs(ETA, RATES),
        "steps": 200,
        "record": [0, 5, 10, 20, 40, 60, 100, 150, 200],
    },
    quick={"zip": optimisers.runs(ETA, MIDDLE), "seeds": 2, "steps": 100, "record": [0, 10, 30, 100], "buckets": "pad"},
    draw=draw,
    claims=(),
)
