"""Which neurons stay small: those inactive on both class means, or on their own?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, derived, last
from jaxtheory.theories.low_rank import G

from . import PAPER, law, only, panels, runs


def small_rows(data: xr.Dataset) -> xr.DataArray:
    """Neurons below the largest gap of the sorted norms."""
    norms = data.neuron_norms
    axis = norms.get_axis_num("neuron")
    place = norms.copy(data=np.argsort(np.argsort(norms.values, axis=axis), axis=axis))
    return place < (last(data.small_fraction) * data.sizes["neuron"]).round()


def share_small(data: xr.Dataset, active: bool) -> xr.DataArray:
    """The share of small neurons among those active, or inactive, at the start.

    They are active, or inactive, on the mean token of their own class.
    """
    first, second = (data.neuron_start.isel(class_mean=c) > 0 for c in (0, 1))
    among = xr.where(data.neuron_class == 0, first, second) == active
    return (small_rows(data) & among).sum("neuron") / among.sum("neuron")


def off_law(data: xr.Dataset) -> xr.DataArray:
    """|share of small neurons - the law|, per cell."""
    return abs(last(data.small_fraction) - law(data, "small_fraction_own_mean"))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The small share and its laws against the noise, and shares of small neurons.

    The latter are by what the neurons were at the start.
    """
    figure, (small, share, dead) = panels(
        3, "Neurons inactive on their own class mean stay small (setting G)", across=2
    )
    for color, count in enumerate(data.num_confusion.values):
        at, label = data.sel(num_confusion=count), f"{count} confusing"
        own_mean, angle = law(at, "small_fraction_own_mean"), law(at, "dead_neurons_angle")
        own_mean_label = "" if color else "own-mean law"
        plot.series(small, last(at.small_fraction), "noise", label, color=color)
        plot.theory(small, data.noise.values, own_mean, own_mean_label, color=color)
        plot.series(share, share_small(at, True), "noise", f"active, {label}", color=color)
        plot.series(share, share_small(at, False), "noise", f"inactive, {label}", color=color + 3)
        plot.series(dead, at.dead_neurons.isel(step=0), "noise", label, color=color)
        plot.theory(dead, None, float(angle[0]), "", color=color, says=r"$1/2 - \theta/2\pi$")
    plot.finish(small, "noise σ", "share of small neurons")
    plot.finish(share, "noise σ", "share that stays small", "own class mean at t = 0")
    law_shown = r"dashed: $1/2 - \theta/2\pi$"
    plot.finish(dead, "noise σ", "dead on both means, t = 0", law_shown, legend=False)
    dead.set_ylim(0.25, 0.5)
    return figure


FIGURE = Figure(
    name="neurons_small_set",
    source=f"{PAPER}, figure 3A: what decides",
    finding=Finding(
        "For noise σ ≤ 0.2 the share of small neurons is Φ(−1.05 σ√d/(√L |m_y|)) within 0.1, m_y the class's mean token",
        rests_on=("LR-57",),
    ),
    theory=only("neuron_norms", "neuron_class", "neuron_start"),
    config=G,
    sweep=runs(150, vary={"noise": [0.0, 0.05, 0.1, 0.2], "num_confusion": [1, 3, 6]}, seeds=10),
    quick={"vary": {"noise": [0.0, 0.1], "num_confusion": [1, 3]}, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-57",
            origin=derived("reconstructed"),
            statement="The share of small neurons is Phi(-1.05 sigma sqrt(d) / (sqrt(L) |m_y|)), where m_y is the mean token of the neuron's class, within 0.1 in every cell.",
            measure=Measure(
                "|share of small neurons − law Φ(−1.05 σ √d / (√L |m|))|, each cell", off_law
            ),
            bound=at_most(0.1),
            why="The paper shows that 0.4 of the neurons are small and gives no reason; this is a formula for that share.",
        ),
    ),
)
