"""What do wrong labels in training cost: the learning, the low rank, or time?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived, exponent
from jaxtheory.theories.low_rank import S1

from . import SETTINGS, final, lines, only, panels, pick, rank_cost, runs
from ._training import fitted

MOST = slice(0.0, 0.35)  # shares of wrong labels with which it learns
CLEAN = "summary, limitations: “clean data”"


def slower(data: xr.Dataset) -> xr.DataArray:
    """The exponent of 1 - 2q in the time to a test loss of 0.1, q the share of wrong labels."""
    times = fitted(data).sel(label_noise=MOST)
    return exponent(times, 1 - 2 * times.label_noise)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss, time to fit, costs of the ranks 1 and 2, and small neurons, over wrong labels."""
    figure, axes = panels(
        4, "Wrong labels in training slow the learning and keep rank 2", width=3.2
    )
    times = fitted(data).sel(label_noise=MOST)
    for ax, values, label in (
        (axes[0], final(data.loss), "test hinge loss"),
        (axes[1], times, "steps to a loss of 0.1"),
        (axes[3], final(data.small_changes), "neurons that change little"),
    ):
        lines(ax, values, "label_noise", "setting")
        plot.finish(ax, "share q of wrong labels", label, legend=ax is axes[0])
    q = times.label_noise.values
    for color, first in enumerate(times.mean("seed").transpose("setting", ...).values[:, 0]):
        plot.theory(axes[1], q, first / (1 - 2 * q), "" if color else "∝ 1/(1 − 2q)", color=color)
    for shift, rank in enumerate((1, 2)):
        for place, setting in enumerate(data.setting.values):
            cost = rank_cost(data, rank).sel(setting=setting)
            plot.series(
                axes[2], cost, "label_noise", f"rank {rank}, {setting}", color=place + 2 * shift
            )
    plot.finish(axes[2], "share q of wrong labels", "cost of truncation")
    return figure


FIGURE = Figure(
    name="rank_label_noise",
    source=f"ours; {CLEAN}",
    finding=Finding(
        "With a share q ≤ 0.3 of wrong labels the steps to test loss 0.1 go as (1 − 2q)^−p with p between 0.7 and 1.4",
        rests_on=("LR-110",),
    ),
    theory=only("truncated_loss"),
    config=S1,
    sweep=runs(
        150,
        zip=pick(SETTINGS, 0, 4),
        vary={"label_noise": [0.0, 0.1, 0.2, 0.3, 0.4]},
        record={"loss": 3, "small_changes": [0, 120, 150]},
    ),
    quick={
        "zip": pick(SETTINGS, 0),
        "vary": {"label_noise": [0.0, 0.2]},
        "seeds": 2,
        "steps": 120,
        "record": {"loss": 3, "small_changes": [0, 120]},
    },
    draw=draw,
    claims=(
        Claim(
            "LR-110",
            origin=derived("derived: the mean gradient at the start is the clean one times 1 - 2q"),
            statement="A share q of wrong labels makes training slower by 1 / (1 - 2q): the time to a test loss of 0.1 goes as a power of 1 - 2q between -1.4 and -0.7, for q up to 0.3, in S1 and G.",
            measure=Measure(
                "exponent in 1 − 2q, q wrong labels, of steps to test loss 0.1, S1, G", slower
            ),
            bound=between(-1.4, -0.7),
            why="It is the price of wrong labels: more steps, with the same result.",
        ),
    ),
)
