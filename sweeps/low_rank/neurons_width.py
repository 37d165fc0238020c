"""Are small neurons of size 1 / sqrt(m), and large ones?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, between, derived, exponent, interpretation
from jaxtheory.theories.low_rank import G

from . import PAPER, only, panels, pick, runs, worst

WIDTHS = [50, 100, 200, 400]
STARTS = {"ξ = 0.01": [0.01] * 4, "ξ ∝ 1/√m": [0.01 * (200 / m) ** 0.5 for m in WIDTHS]}
CELLS: dict[str, list] = {
    "cell": [f"{start}, m = {m}" for start in STARTS for m in WIDTHS],
    "num_neurons": WIDTHS * 2,
    "output_scale": [xi for several in STARTS.values() for xi in several],
}


def sizes(data: xr.Dataset, start: str, large: bool) -> xr.DataArray:
    """The mean norm of the smallest fifth of the neurons, or of the largest third, over m."""
    cells = [cell for cell in data.cell.values if str(cell).startswith(start)]
    some = data.neuron_norms.sel(cell=cells)
    found: list[np.ndarray] = []
    for m in some.num_neurons.values:
        norms = np.sort(some.isel(cell=len(found)).values, axis=-1)[:, :m]  # NaN beyond m
        found.append((norms[:, -(m // 3) :] if large else norms[:, : m // 5]).mean(axis=-1))
    coords = {"m": some.num_neurons.values.astype(float), "seed": some.seed.values}
    return xr.DataArray(np.stack(found), coords, ["m", "seed"])


def power(data: xr.Dataset, start: str, large: bool = False) -> xr.DataArray:
    """The exponent of m in such a norm."""
    norms = sizes(data, start, large)
    return exponent(norms.mean("seed", skipna=False), "m")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Mean norms of the smallest fifth and the largest third over m, with 1 / sqrt(m)."""
    figure, axes = panels(2, "Norms of small and large neurons against their number (G)", width=4.2)
    starts = [s for s in STARTS if any(str(cell).startswith(s) for cell in data.cell.values)]
    for ax, large in zip(axes, (False, True), strict=True):
        for color, start in enumerate(starts):
            norms = sizes(data, start, large)
            m = norms.m.values
            text = f"{start}, {plot.slope_label(norms, 'm')}"
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
    theory=only("neuron_norms"),
    config=G,
    sweep=runs(150, zip=CELLS),
    quick={"zip": pick(CELLS, 0, 1), "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-42",
            origin=interpretation(PAPER, "(13)"),
            statement="(13), norms of small neurons of at least Omega(1/sqrt(m)), read as: the exponent of m in the mean norm of the smallest fifth is at least -0.6, for both starts.",
            measure=lambda data: worst(*(power(data, start) for start in STARTS)),
            bound=at_least(-0.6),
        ),
        Claim(
            "LR-43",
            origin=derived("measured"),
            statement="Read as an upper bound, (13) needs xi to go as 1/sqrt(m): the exponent is then -0.65 to -0.35.",
            measure=lambda data: power(data, "ξ ∝ 1/√m"),
            bound=between(-0.65, -0.35),
        ),
        Claim(
            "LR-89",
            origin=derived("measured"),
            statement="With one xi for all m, small neurons keep their size: the exponent is at least -0.15.",
            measure=lambda data: power(data, "ξ = 0.01"),
            bound=at_least(-0.15),
        ),
        Claim(
            "LR-90",
            origin=interpretation(PAPER, "(11), (12)"),
            statement="(11) and (12), Omega(1/sqrt(m)) for large neurons, read as: the exponent of m in the mean norm of the largest third is -0.65 to -0.35, for both starts.",
            measure=lambda data: worst(*(power(data, start, True) for start in STARTS)),
            bound=between(-0.65, -0.35),
        ),
    ),
)
