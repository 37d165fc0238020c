"""Draw docs/ladders.webp: what the theorems' tokens are worth to networks, theory by theory."""

import csv
import gzip
import io
from typing import NamedTuple

import evidence
import matplotlib as mpl
import pictures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxtheory import plot

PICTURE = evidence.DOCS / "ladders.webp"
COLUMNS = {  # figure -> the theory and the tokens
    "network_walk": ("random walk", "the parent"),
    "network_bigram": ("bigrams", "the attended"),
    "network_neighbor": ("neighbors", "the nearest"),
    "network_groups": ("groups", "the group"),
    "network_patterns": ("patterns", "the tokens"),
    "network_graph": ("causal graph", "the parents"),
    "network_regression": ("regression", "the examples"),
    "network_diversity": ("diversity", "the examples"),
    "network_pruning": ("imitation", "the token"),
    "network_recall": ("facts", "both tokens"),
}
LEARNED, SHOWN = 0.9, 2.5  # the gap that a learned task closes; the end of the axis


class Dot(NamedTuple):
    """The median of a measure and its range over the seeds."""

    middle: float
    low: float
    high: float


def dots(figure: str, panel: str) -> dict[int, Dot]:
    """The dots of a panel by their place, 0 at the bottom; places without a number are left out."""
    table = gzip.decompress((evidence.DOCS / "gallery" / f"{figure}.csv.gz").read_bytes())
    points: dict[int, float] = {}
    ends: dict[int, list[float]] = {}
    for row in csv.DictReader(io.StringIO(table.decode())):
        if row["x_label"] != panel or row["x"] in ("", "nan"):
            continue
        place = round(float(row["y"]))
        if row["kind"] == "point":
            points[place] = float(row["x"])
        else:
            ends.setdefault(place, []).append(float(row["x"]))
    return {place: Dot(x, min(ends[place]), max(ends[place])) for place, x in points.items()}


def column(ax: Axes, figure: str, title: str, tokens: str) -> None:
    """The networks of a theory, one below the other, filled where they have learned."""
    closed = dots(figure, "share of the gap closed")
    for place, dot in dots(figure, f"loss without {tokens} / gap").items():
        learned = place in closed and closed[place].middle >= LEARNED
        color = plot.COLORS[0] if learned else "0.6"
        ax.plot([max(dot.low, -0.1), min(dot.high, SHOWN)], [place, place], color=color, lw=1)
        beyond = dot.middle > SHOWN
        ax.plot(
            min(dot.middle, SHOWN),
            place,
            ">" if beyond else "o",
            color=color,
            mfc=color if learned else "white",
            ms=5,
            clip_on=False,
        )
    ax.axvline(0.5, color="black", ls="--", lw=0.8)
    ax.set(xlim=(-0.1, SHOWN), ylim=(-0.6, 7.6), xticks=[0, 1, 2])
    ax.set_title(f"{title}\n{tokens}")


def draw() -> Figure:
    """Return the picture."""
    cells = [
        f"{optimizer}, {block}, {size}"
        for optimizer in ("SGD", "AdamW")
        for block in ("attention", "block")
        for size in ("small", "large")
    ]
    with mpl.rc_context(plot.STYLE):
        figure = Figure(figsize=(10, 2.9), dpi=160, layout="constrained")
        axes = figure.subplots(1, len(COLUMNS), sharey=True)
        for ax, (name, words) in zip(axes, COLUMNS.items(), strict=True):
            column(ax, name, *words)
        axes[0].set_yticks(range(7, -1, -1), cells)
        figure.supxlabel("rise of the loss with the edges to these tokens cut, over the gap")
    return figure


def write() -> None:
    """Write the picture."""
    pictures.save(draw(), PICTURE)
