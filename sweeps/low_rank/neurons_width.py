"""Are small neurons of size 1 / sqrt(m), and large ones, and how many are large?

Long, because (11) to (13) make five statements on them, each with its own measure.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    exponent,
    fitted_law,
    interpretation,
    last,
)
from jaxtheory.theories.low_rank import G

from . import PAPER, only, panels, pick, runs, worst

WIDTHS = [25, 50, 100, 200, 400]
STARTS = {"ξ = 0.01": [0.01] * len(WIDTHS), "ξ ∝ 1/√m": [0.01 * (200 / m) ** 0.5 for m in WIDTHS]}
CELLS: dict[str, list] = {
    "cell": [f"{start}, m = {m}" for start in STARTS for m in WIDTHS],
    "num_neurons": WIDTHS * 2,
    "output_scale": [xi for scales in STARTS.values() for xi in scales],
}


def places(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """The place of each neuron when sorted by norm, from 0 on, and the number of neurons."""
    norms = data.neuron_norms
    axis = norms.get_axis_num("neuron")
    place = norms.copy(data=np.argsort(np.argsort(norms.values, axis=axis), axis=axis))
    return place, norms.notnull().sum("neuron")


def among(data: xr.Dataset, values: xr.DataArray, large: bool) -> xr.DataArray:
    """Mean values of the smallest fifth of the neurons by norm, or of the largest third."""
    place, m = places(data)
    some = (place >= m - m // 3) & (place < m) if large else place < m // 5  # NaN beyond m
    return values.where(some).mean("neuron")


def over_m(values: xr.DataArray, start: str) -> xr.DataArray:
    """The cells of a start over m."""
    some = values.sel(cell=[cell for cell in values.cell.values if str(cell).startswith(start)])
    return some.assign_coords(cell=some.num_neurons.values.astype(float)).rename(cell="m")


def powers(*values: xr.DataArray) -> xr.DataArray:
    """The exponents of m, for both starts."""
    return worst(*(exponent(over_m(x, start), "m") for x in values for start in STARTS))


def projected(data: xr.Dataset, own_pattern: bool) -> tuple[xr.DataArray, xr.DataArray]:
    """Sizes of the projections of o_i and of o_i - o_i(0) on patterns.

    `own_pattern`: on the pattern of the neuron's class; else on all others, of which the mean is
    taken.
    """
    sizes = (abs(data.neuron_projections), abs(data.neuron_change_projections))
    pattern = xr.DataArray(np.arange(sizes[0].sizes["pattern"]), dims="pattern")
    shown = (pattern == data.neuron_class) == own_pattern
    first, second = (x.where(shown).mean("pattern") for x in sizes)
    return first, second


def share(data: xr.Dataset) -> xr.DataArray:
    """|L| / m, where L are the neurons above the largest gap of the norms."""
    return 1 - last(data.small_fraction)


def extremes(data: xr.Dataset, own_pattern: bool) -> tuple[xr.DataArray, xr.DataArray]:
    """The extreme sizes of the projections of o_i and of o_i - o_i(0) on patterns.

    `own_pattern`: the least size on the pattern of the neuron's class, over L; else the largest one
    on another pattern, over the other neurons.
    """
    place, m = places(data)
    pattern = xr.DataArray(np.arange(data.sizes["pattern"]), dims="pattern")
    of_set = place >= np.round(m * (1 - share(data)))
    shown = (
        (pattern == data.neuron_class) & of_set
        if own_pattern
        else (pattern != data.neuron_class) & ~of_set
    )
    sizes = [abs(x).where(shown) for x in (data.neuron_projections, data.neuron_change_projections)]
    ends = [
        x.min(["neuron", "pattern"]) if own_pattern else x.max(["neuron", "pattern"]) for x in sizes
    ]
    return ends[0], ends[1]


def beyond_start(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The exponent of m in some values minus that of xi, for both starts."""
    start = [exponent(over_m(data.output_scale, name), "m") for name in STARTS]
    return powers(values) - xr.concat(start, "which")


def norms_beyond_start(data: xr.Dataset) -> xr.DataArray:
    """`beyond_start` of the norms of the small neurons."""
    return beyond_start(data, among(data, data.neuron_norms, large=False))


def largest_beyond_start(data: xr.Dataset) -> xr.DataArray:
    """`beyond_start` of the largest projection of a neuron off L on a pattern not of its class."""
    return beyond_start(data, extremes(data, own_pattern=False)[0])


def draw(data: xr.Dataset) -> plot.Drawing:
    """Mean norms of the smallest fifth and the largest third over m, with 1 / sqrt(m)."""
    figure, axes = panels(2, "Norms of small and large neurons against their number (G)", width=4.2)
    starts = [s for s in STARTS if any(str(cell).startswith(s) for cell in data.cell.values)]
    for ax, large in zip(axes, (False, True), strict=True):
        for color, start in enumerate(starts):
            norms = over_m(among(data, data.neuron_norms, large), start)
            m = norms.m.values
            text = f"{start}, {plot.law(ax, fitted_law(norms, 'm'))}"
            plot.series(ax, norms, "m", text, color=color)
            law = float(norms.mean("seed")[0]) * (m[0] / m) ** 0.5
            plot.theory(ax, m, law, "" if color else r"$\propto 1/\sqrt{m}$", color=color)
        label = f"mean $|o_i|$, {'largest third' if large else 'smallest fifth'}"
        plot.finish(ax, "neurons m", label, xscale="log", yscale="log")
        plot.ticks(ax.xaxis, [int(v) for v in m])
    axes[0].set_ylim(axes[0].get_ylim()[0] / 2, None)  # room for the legend
    return figure


FIGURE = Figure(
    name="neurons_width",
    source=f"{PAPER}, (11) to (13) over m",
    finding=Finding(
        "At widths m = 25 to 400 large neurons are 45 to 75 %, but others' off-class projections need not fall as 1/√m",
        rests_on=("LR-122", "LR-124"),
    ),
    theory=only(
        "neuron_norms",
        "neuron_changes",
        "neuron_class",
        "neuron_projections",
        "neuron_change_projections",
    ),
    config=G,
    sweep=runs(150, zip=CELLS, seeds=16),
    quick={"zip": pick(CELLS, 0, 1), "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-90",
            origin=interpretation(PAPER, "(11), (12), first inequalities"),
            statement="(11) and (12), projections of large neurons and of their changes on the pattern of their class of Omega(1/sqrt(m)), read as: the exponent of m in their mean over the largest third is at least -0.75, for both starts.",
            measure=Measure(
                "exponent in m of o_i, Δo_i on own class, largest third, each start",
                lambda data: powers(*(among(data, x, True) for x in projected(data, True))),
            ),
            bound=at_least(-0.75),
            why="It is the size that a neuron needs so that Theta(m) of them reach a margin of 1.",
        ),
        Claim(
            "LR-115",
            origin=interpretation(PAPER, "(11), (12), second inequalities"),
            statement="(11) and (12), projections of small neurons and of their changes on the other patterns of O(1/sqrt(m)), read as: the exponent of m in their mean size over the smallest fifth is at most -0.25, for both starts.",
            measure=Measure(
                "exponent in m of o_i, Δo_i on other patterns, smallest 1/5, each start",
                lambda data: powers(*(among(data, x, False) for x in projected(data, False))),
            ),
            bound=at_most(-0.25),
            expect="fails",
            why="Small neurons must shrink with m if they are to be left out for free in wide layers.",
        ),
        Claim(
            "LR-42",
            origin=interpretation(PAPER, "(13)"),
            statement="(13), norms of small neurons and of their changes of at least Omega(1/sqrt(m)), read as: the exponent of m in their mean over the smallest fifth is at least -0.75, for both starts.",
            measure=Measure(
                "exponent in m of |o_i| and |Δo_i|, smallest fifth, each start",
                lambda data: powers(
                    *(among(data, x, False) for x in (data.neuron_norms, data.neuron_changes))
                ),
            ),
            bound=at_least(-0.75),
            why="As printed it is a lower bound on what is said to be small, and holds; the paper needs an upper one.",
        ),
        Claim(
            "LR-43",
            origin=derived("derived: a neuron without gradient keeps its start; corrects (13)"),
            statement="Small neurons keep the size of their start: the exponent of m in the mean norm of the smallest fifth is that of xi within 0.1, for both starts.",
            measure=Measure(
                "exponent in m of |o_i| minus that of ξ, smallest fifth, each start",
                norms_beyond_start,
            ),
            bound=between(-0.1, 0.1),
            why="Read as an upper bound (13) is a condition on the start, xi of O(1/sqrt(m)), not a result of training.",
        ),
        Claim(
            "LR-116",
            origin=interpretation(PAPER, "theorem 1, the set L"),
            statement="The set of large neurons “with the size |L| = Theta(m)”, read as: the number of neurons above the largest gap of the norms has an exponent of m of 0.75 to 1.25, for both starts.",
            measure=Measure(
                "exponent in m of |L|, neurons above the largest gap, each start",
                lambda data: powers(share(data) * data.num_neurons),
            ),
            bound=between(0.75, 1.25),
            why="A share that depends on the width would make a pruning rate of 0.4 a property of m = 200.",
        ),
        Claim(
            "LR-122",
            origin=derived("measured"),
            statement="The set of large neurons, those above the largest gap of the norms, is a share of 0.45 to 0.75 of the neurons at each of five widths, m = 25 to 400, for both starts.",
            measure=Measure(
                "share of neurons above the largest gap of the norms, each m and start", share
            ),
            bound=between(0.45, 0.75),
            why="It gives Theta(m) its constants, and with them the share that is left to prune.",
        ),
        Claim(
            "LR-123",
            origin=interpretation(PAPER, "(11), (12), first inequalities"),
            statement="“i in L” in (11) and (12) means every neuron above the largest gap, read as: the least projection of such a neuron, and of its change, on the pattern of its class has an exponent of m of at least -0.75, for both starts.",
            measure=Measure(
                "exponent in m of least o_i, Δo_i on own class, i ∈ L, each start",
                lambda data: powers(*extremes(data, own_pattern=True)),
            ),
            bound=at_least(-0.75),
            why="A mean over large neurons could hide some that have no part in the answer.",
        ),
        Claim(
            "LR-124",
            origin=interpretation(PAPER, "(11), (12), second inequalities"),
            statement="“i not in L” in (11) and (12) means every other neuron, read as: the largest projection of such a neuron, and of its change, on another pattern than that of its class has an exponent of m of at most -0.25, for both starts.",
            measure=Measure(
                "exponent in m of largest o_i, Δo_i off own class, i ∉ L, each start",
                lambda data: powers(*extremes(data, own_pattern=False)),
            ),
            bound=at_most(-0.25),
            expect="fails",
            why="A single small neuron with a large projection would be missed when it is pruned.",
        ),
        Claim(
            "LR-125",
            origin=derived("derived: the largest of Gaussian numbers, xi sqrt(2 log(2 m M))"),
            statement="The largest projection of a neuron o_i, not a large one, on another pattern than that of its class goes as xi, up to the root of a logarithm: its exponent of m minus that of xi is -0.05 to 0.2, for both starts.",
            measure=Measure(
                "exponent in m of largest o_i off own class, i ∉ L, minus that of ξ",
                largest_beyond_start,
            ),
            bound=between(-0.05, 0.2),
            why="The second inequality holds if the start is of order 1/sqrt(m), and training has no part in it.",
        ),
    ),
)
