"""Which neurons stay small: those inactive on both class means, or on their own?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.low_rank import G

from . import PAPER, last, only, ours


def small_rows(data: xr.Dataset) -> xr.DataArray:
    """Neurons below the largest gap of the sorted norms."""
    norms = data.neuron_norms
    axis = norms.get_axis_num("neuron")
    place = norms.copy(data=np.argsort(np.argsort(norms.values, axis=axis), axis=axis))
    return place < (last(data.small_fraction) * data.sizes["neuron"]).round()


def share_small(data: xr.Dataset, active: bool) -> xr.DataArray:
    """The share of small neurons among those active, or inactive, on the mean token of their own
    class at the start.
    """
    first, second = (data.neuron_start.isel(class_mean=c) > 0 for c in (0, 1))
    among = xr.where(data.neuron_class == 0, first, second) == active
    return (small_rows(data) & among).sum("neuron") / among.sum("neuron")


def law(data: xr.Dataset, name: str) -> xr.DataArray:
    """A predicted share, per cell."""
    return data[f"predicted_{name}"].isel(step=0, seed=0, drop=True)


def off_law(data: xr.Dataset, name: str) -> xr.DataArray:
    """|mean over seeds of the small share - a law|, per cell."""
    return abs(last(data.small_fraction).mean("seed") - law(data, f"small_fraction_{name}"))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The small share and its laws against the noise; shares of small neurons by what they were at
    the start.
    """
    figure, axes = plot.panels(
        3,
        title=f"Which neurons stay small (setting G), {data.sizes['seed']} seeds",
        width=4.0,
        height=3.2,
    )
    for colour, count in enumerate(data.num_confusion.values):
        at = data.sel(num_confusion=count)
        plot.series(axes[0, 0], last(at.small_fraction), "noise", f"nconf = {count}", colour=colour)
        plot.theory(
            axes[0, 0],
            data.noise.values,
            law(at, "small_fraction_own_mean"),
            "own-mean law" if colour == 0 else "",
            colour=colour,
        )
        plot.series(
            axes[0, 2], at.dead_neurons.isel(step=0), "noise", f"nconf = {count}", colour=colour
        )
        plot.theory(axes[0, 2], None, float(law(at, "dead_neurons_angle")[0]), "", colour=colour)
        plot.series(
            axes[0, 1], share_small(at, True), "noise", f"active, nconf = {count}", colour=colour
        )
        plot.series(
            axes[0, 1],
            share_small(at, False),
            "noise",
            f"inactive, nconf = {count}",
            colour=colour + 3,
        )
    plot.finish(axes[0, 0], "noise σ", "share of small neurons")
    plot.finish(axes[0, 1], "noise σ", "share that stays small", "own class mean at t = 0")
    plot.finish(
        axes[0, 2],
        "noise σ",
        "dead on both means, t = 0",
        r"dashed: $1/2 - \theta/2\pi$",
        legend=False,
    )
    axes[0, 2].set_ylim(0.25, 0.5)
    return figure


FIGURE = Figure(
    name="neurons_small_set",
    source=f"{PAPER}, figure 3A: what decides",
    theory=only("neuron_norms", "neuron_class", "neuron_start"),
    config=G,
    sweep={
        "vary": {"noise": [0.0, 0.05, 0.1, 0.2], "num_confusion": [1, 3, 6]},
        "seeds": 10,
        "steps": 150,
        "record": [0, 150],
        "dtype": "float32",
    },
    quick={"vary": {"noise": [0.0, 0.1], "num_confusion": [1, 3]}, "seeds": 2},
    draw=draw,
    claims=(
        ours(
            "LR-55",
            "At the start a share 1/2 - theta / 2 pi of the neurons is inactive on both class "
            "means, within .045 in every cell.",
            lambda data: abs(
                data.dead_neurons.isel(step=0, drop=True).mean("seed")
                - law(data, "dead_neurons_angle")
            ),
            source="derived",
            at_most=0.045,
        ),
        refuted(
            "LR-56",
            "derived",
            "first guess, derived",
            "That share stays small: the one below the gap is 1/2 - theta / 2 pi within .1, in "
            "every cell.",
            lambda data: off_law(data, "angle"),
            at_most=0.1,
        ),
        holds(
            "LR-57",
            "derived",
            "reconstructed",
            "It is Phi(-1.05 sigma sqrt(d) / (sqrt(L) |m|)), m the own class mean, within .1 in "
            "every cell.",
            lambda data: off_law(data, "own_mean"),
            at_most=0.1,
        ),
        ours(
            "LR-58",
            "Without noise at least .75 of the neurons inactive on their own class mean stay "
            "small, in every cell.",
            lambda data: share_small(data, False).sel(noise=0.0),
            at_least=0.75,
        ),
        ours(
            "LR-59",
            "Of those active on it at most .1 stay small, in every cell.",
            lambda data: share_small(data, True),
            at_most=0.1,
        ),
    ),
)
