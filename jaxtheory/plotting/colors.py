"""Colors for numbers: their scales and their color bars."""

from itertools import pairwise
from typing import Any

import numpy as np

from jaxtheory.plotting.annotation.captions import broken
from jaxtheory.plotting.annotation.grid import remember_bar
from jaxtheory.plotting.annotation.sizes import LETTER, SMALL, TEXT, points
from jaxtheory.plotting.panels import COLORS, Axes, plain_numbers, room
from jaxtheory.texts.errors import InputError

MAP = "cividis"  # also for readers who do not see colors
_DIVERGING = "PuOr_r"  # of differences
_CATEGORIES = ("#f0f0f0", *COLORS)


def normalized(norm: Any, values: Any, vmin: float | None, vmax: float | None) -> Any:
    """Return the scale of colors for these values as a matplotlib Normalize.

    norm: "linear" (or None), "log", "diverging", a list of the edges of categories, or a Normalize.
    Raises InputError for anything else, for ends that do not increase, and for values that a
    logarithm does not have.
    """
    from matplotlib.colors import BoundaryNorm, CenteredNorm, LogNorm, Normalize

    if isinstance(norm, list):
        most = len(_CATEGORIES) + 1
        if not 2 <= len(norm) <= most or any(a >= b for a, b in pairwise(norm)):
            raise InputError(f"norm = {norm!r}: must be 2 to {most} increasing edges of categories")
        return BoundaryNorm(norm, len(norm) - 1)
    if isinstance(norm, Normalize):
        if vmin is not None or vmax is not None:
            raise InputError("vmin, vmax: a Normalize has its own; set them there")
        return norm
    if norm not in (None, "linear", "log", "diverging"):
        raise InputError(
            f'norm = {norm!r}: must be "linear", "log", "diverging" or a matplotlib Normalize'
        )
    ends = [end for end in (vmin, vmax) if end is not None]
    if len(ends) == 2 and not ends[0] < ends[1]:
        raise InputError(f"vmin = {vmin!r}: must be less than vmax = {vmax!r}")
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    if norm == "diverging":
        return CenteredNorm(0, max(map(abs, ends or finite), default=1.0) or 1.0)
    if norm != "log" or not finite.size:
        return Normalize(vmin, vmax)
    if beyond := int((finite <= 0).sum()) + sum(end <= 0 for end in ends):
        raise InputError(
            f'norm = "log": needs positive numbers, and {beyond} of the values, vmin and vmax are '
            "not; use values.where(values > 0), or norm=matplotlib.colors.SymLogNorm(...)"
        )
    return LogNorm(vmin, vmax)


def map_of(scale: Any) -> Any:
    """Return the colors of a scale: diverging, those of categories, or from dark to light."""
    from matplotlib.colors import BoundaryNorm, CenteredNorm, ListedColormap

    if isinstance(scale, BoundaryNorm):
        return ListedColormap(_CATEGORIES[: scale.Ncmap])
    return _DIVERGING if isinstance(scale, CenteredNorm) else MAP


def colored_by(scale: Any, values: np.ndarray) -> Any:
    """Return what gives numbers their colors on a scale, and has a color bar for these values."""
    from matplotlib.cm import ScalarMappable

    picture = ScalarMappable(scale, map_of(scale))
    picture.set_array(np.asarray(values, float))
    picture.autoscale_None()
    return picture


def color_bar(ax: Axes, picture: Any, label: str = "") -> None:
    """Add the color bar of a picture, which ends at its data.

    An arrow shows that values lie beyond the ends of the colors.

    Args:
        ax: The panel of the picture.
        picture: The result of `pcolormesh`, `scatter` or `imshow`.
        label: The label of the color bar.

    Example:
        >>> import numpy as np
        >>> from jaxtheory import plot
        >>> figure, axes = plot.panels()
        >>> plot.color_bar(axes[0, 0], axes[0, 0].pcolormesh(np.eye(2)), "share")
        >>> len(figure.axes)
        2
    """
    values = np.ma.masked_invalid(picture.get_array()).compressed()
    low, high = picture.get_clim()
    over = "".join("-+"[k] for k, v in enumerate((low, high)) if len(values) and (
        values.min() < v if k == 0 else values.max() > v)
    )  # fmt: skip
    extend: Any = {"": "neither", "-": "min", "+": "max", "-+": "both"}[over]
    drawn = ax.figure.colorbar(picture, ax=ax, extend=extend)
    remember_bar(ax, label)
    drawn.set_label(broken(label, room(ax)[1] - 0.85, LETTER * points(TEXT)), size=points(TEXT))
    drawn.ax.tick_params(which="both", labelsize=points(SMALL), width=0.6)
    drawn.outline.set_linewidth(0.6)
    if drawn.ax.get_yscale() == "log":
        plain_numbers(drawn.ax.yaxis)
    if len(values) and values.min() < values.max() and not hasattr(picture.norm, "boundaries"):
        drawn.ax.set_ylim(max(low, values.min()), min(high, values.max()))
