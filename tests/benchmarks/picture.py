"""The picture of docs/performance.md: how many times as long as jaxtheory others take."""

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.table import Row

from jaxtheory.theories import names

SIZE = 7.2, 3.6  # inches


class Kind(NamedTuple):
    """Points of one marker: what a row's name ends with, and how they are told."""

    ending: str
    marker: str
    color: str


KINDS = (
    Kind("vmapped JAX", "o", "#0072b2"),
    Kind("vmapped JAX with the algebra", "D", "#d55e00"),
    Kind("NumPy", "s", "#666666"),
)
FLOOR = Kind("floor of the machine", "|", "black")


def points(rows: list[Row]) -> dict[Kind, dict[str, tuple[float, bool | None]]]:
    """Of each kind and theory the first ratio to our whole sweep, and whether its goal is met."""
    drawn: dict[Kind, dict[str, tuple[float, bool | None]]] = {kind: {} for kind in KINDS}
    drawn[FLOOR] = {}
    for row in (row for row in rows if row.theory in names() and row.kind == "faster"):
        for kind in KINDS:
            if row.name.endswith(kind.ending) and row.ratio is not None:
                drawn[kind].setdefault(row.theory, (row.ratio, row.met))
                if row.reached is not None:
                    drawn[FLOOR].setdefault(row.theory, (row.reached, None))
    return drawn


def draw(rows: list[Row], file: Path) -> None:
    """Draw one line per theory; hollow points miss their goals."""
    import matplotlib.pyplot as plt

    theories = [name for name in names() if any(row.theory == name for row in rows)]
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    for kind, ratios in points(rows).items():
        for theory, (ratio, met) in ratios.items():
            y = theories.index(theory)
            fill = "white" if met is False else kind.color
            style: dict[str, Any] = {"color": kind.color, "markerfacecolor": fill}
            ax.plot(ratio, y, kind.marker, markersize=7, zorder=3, clip_on=False, **style)
        ax.plot([], [], kind.marker, color=kind.color, label=kind.ending)
    ax.plot([], [], "o", color="black", markerfacecolor="white", label="misses its goal")
    ax.axvline(1, color="black", linewidth=1)
    ax.set(xscale="log", yticks=range(len(theories)), yticklabels=theories)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("times as long as a whole sweep of jaxtheory")
    ax.invert_yaxis()
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize="small")
    figure.savefig(file, dpi=150)
    plt.close(figure)
