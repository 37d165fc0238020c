"""Drawing for figures, in one style at printed size and with a caption of what was drawn.

Means over seeds have bands, curves of the theory are dashed, and marks show where runs have no
value.
"""

from typing import TYPE_CHECKING, Any

from jaxtheory.engine.results.statistics import counted as counted
from jaxtheory.engine.results.statistics import slope as slope
from jaxtheory.plotting import optimizers as optimizers
from jaxtheory.plotting.annotation.captions import caption, diverged, numbers, remark
from jaxtheory.plotting.annotation.complete import add_caption
from jaxtheory.plotting.annotation.thresholds import threshold
from jaxtheory.plotting.colors import color_bar
from jaxtheory.plotting.heat import boundary, cell_room, heat
from jaxtheory.plotting.lines import bars, dots, law, lines, medians, reference, series, theory
from jaxtheory.plotting.panels import COLORS as COLORS
from jaxtheory.plotting.panels import FEW as FEW
from jaxtheory.plotting.panels import MARKERS as MARKERS
from jaxtheory.plotting.panels import SMALL as SMALL
from jaxtheory.plotting.panels import STYLE as STYLE
from jaxtheory.plotting.panels import WIDTH as WIDTH
from jaxtheory.plotting.panels import finish, legend_below, panels, room, shades, ticks
from jaxtheory.plotting.phases import over_heat, phases

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

    Drawing = Figure  # what `draw` of a figure returns
else:
    Axes = Figure = Drawing = Any

__all__ = [
    "add_caption",
    "bars",
    "boundary",
    "caption",
    "cell_room",
    "color_bar",
    "diverged",
    "dots",
    "finish",
    "heat",
    "law",
    "legend_below",
    "lines",
    "medians",
    "numbers",
    "optimizers",
    "over_heat",
    "panels",
    "phases",
    "reference",
    "remark",
    "room",
    "series",
    "shades",
    "theory",
    "threshold",
    "ticks",
]


def __dir__() -> list[str]:
    return sorted(__all__)
