"""Does attention still select the parent with momentum, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last

from . import CIRCLE6, ETA, OF_V, THEORY, Function, V, right

RATES = {
    "sgd": [0.25, 1.0, 4.0],
    "momentum": [0.025, 0.1, 0.4],
    "sgd_cosine": [0.5, 2.0, 8.0],
    "adam": [0.02, 0.1, 0.5],
    "adam_literal": [3e-4, 3e-3, 3e-2],
}
CHANCE = 0.7
LABELS = plot.optimizers.LABELS | {"adam": "Adam on u, w", "adam_literal": "Adam on W"}
ADAM = ("adam", "adam_literal")
LINEAR = ("sgd", "momentum", "sgd_cosine")


def restrict(measure: Function, *algorithms: str) -> Function:
    """A measure of the runs of some algorithms."""
    return lambda data: plot.optimizers.stack(measure(data), ETA, *algorithms)


def solved(data: xr.Dataset) -> xr.DataArray:
    """True for runs that ended with most attention on the parent and the best accuracy."""
    return right(data) & (abs(last(data.accuracy) - CHANCE) < 1e-5)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Share of runs that select the parent and predict optimally against the learning rate.

    The other panels have attention and the direction of V in t at the middle rates.
    """
    at = f"K = 6, N = 33, p = {CHANCE:g}, t = {int(data.step[-1])}"
    figure, axes = plot.panels(3, title=at, width=3.4, height=3.4)
    values, label = solved(data).astype(float), "share, parent and optimum"
    plot.optimizers.against_rate(axes[0, 0], values, ETA, label, labels=LABELS)
    axes[0, 0].set_ylim(-0.05, 1.05)
    shown = {"parent_attention": "attention on the parent", V: OF_V}
    for ax, (name, label) in zip(axes[0, 1:], shown.items(), strict=True):
        for color, algorithm in enumerate(LABELS):
            curve = plot.optimizers.select(data[name], ETA, algorithm)
            middle = curve.isel(rate=curve.sizes["rate"] // 2, drop=True)
            plot.series(ax, middle, "step", LABELS[algorithm], color=color)
        plot.finish(ax, "step t (middle learning rates)", label, legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="walk_optimizers",
    source="derived: the talk's theorem beyond plain gradient descent",
    finding=Finding(
        "Descent, momentum and cosine decay select the parent and predict optimally at three rates (K = 6, p = 0.7)",
        rests_on=("RW-42",),
    ),
    theory=THEORY,
    config=CIRCLE6.replace(
        length=33, encoding_dim=200, clockwise_probability=CHANCE, decay_steps=100
    ),
    sweep={
        "zip": plot.optimizers.runs(ETA, RATES),
        "seeds": 12,
        "steps": 100,
        "record": [0, 1, 3, 10, 30, 60, 100],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick={"zip": plot.optimizers.runs(ETA, plot.optimizers.middle(RATES)), "seeds": 2},
    draw=draw,
    # keys 105, 106: 1, 1; 0.04, 0.06
    claims=(
        Claim(
            "RW-42",
            origin=derived("measured"),
            statement="In three quarters of the experiments all runs with gradient descent, momentum and cosine decay give the parent the most attention and predict optimally, at each of three rates.",
            measure=Measure(
                "parent selected, accuracy best: descent, momentum, cosine (1: yes)",
                restrict(solved, *LINEAR),
            ),
            bound=at_least(1),
            q=0.75,
            why="The theorem is about plain gradient descent; two common changes of it do no harm.",
        ),
        Claim(
            "RW-43",
            origin=derived("measured"),
            statement="Of Adam's six runs, three on u, w and three on W, at most a quarter give the parent the most attention and predict optimally. Its first step makes all entries of V equal, so that the output does not depend on attention.",
            measure=Measure(
                "share of Adam's six runs with parent selected and accuracy optimal",
                lambda data: restrict(solved, *ADAM)(data).mean(),
            ),
            bound=at_most(0.25),
            panel=0,
            why="Practice trains with Adam, which meets the same symmetry that the failure theorem describes.",
        ),
    ),
)
