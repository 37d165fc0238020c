"""Draw docs/front.webp, the picture of the first page, from the numbers of three figures."""

import csv
import gzip
import io
from collections import defaultdict

import evidence
import findings
import matplotlib as mpl
import pictures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxtheory import plot

PICTURE = evidence.DOCS / "front.webp"
BLUE, ORANGE = plot.COLORS[:2]
Curve = tuple[list[float], list[float]]


def curves(figure: str, panel: str) -> dict[tuple[str, str], list[Curve]]:
    """Return the curves of the panel whose title begins so, by kind and label."""
    groups: dict[tuple[str, str], list[Curve]] = defaultdict(list)
    table = gzip.decompress((evidence.DOCS / "gallery" / f"{figure}.csv.gz").read_bytes())
    for row in csv.DictReader(io.StringIO(table.decode())):
        if not row["title"].startswith(panel):
            continue
        x, y = float(row["x"] or 0), float(row["y"])
        runs = groups[row["kind"], row["label"]]
        if not runs or x <= runs[-1][0][-1]:
            runs.append(([], []))
        runs[-1][0].append(x)
        runs[-1][1].append(y)
    return dict(groups)


def staircase(ax: Axes) -> None:
    """The loss of each run of linear attention, and the plateaus of the theory."""
    groups = curves("regression_staircase", "separate")
    for x, y in (run for (kind, _), runs in groups.items() if kind == "line" for run in runs):
        ax.plot(x, y, color=BLUE, alpha=0.5, linewidth=0.8)
    levels = (run for (kind, _), runs in groups.items() if kind == "theory" for run in runs)
    for level in {y for _, ys in levels for y in ys}:
        ax.axhline(level, color="black", linestyle="--", linewidth=0.8)
    ax.set(xscale="log", xlabel="step", ylabel="loss")
    ax.set_title(str(findings.FRONT[0]))
    ax.plot([], [], color=BLUE, label="16 runs")
    ax.plot([], [], color="black", linestyle="--", label="theorem")


def root(ax: Axes) -> None:
    """The ratio of the value matrix's entries, the theorem and the law that we derived."""
    groups = curves("walk_direction", "$v(1)/v(-1)$")
    shown = {("theory", "theorem"): (ORANGE, "--"), ("theory", "sqrt law, t = ∞"): ("black", "--")}
    for place, (color, line) in shown.items():
        for x, y in groups[place]:
            name = "theorem" if color == ORANGE else "corrected law"
            ax.plot(x, y, color=color, linestyle=line, label=name, linewidth=1)
    ((x, y),) = (run for (kind, _), runs in groups.items() if kind == "line" for run in runs)
    ax.plot(x, y, "o", color=BLUE, markersize=3.5, label="trained")
    ax.set(yscale="log", xlabel="probability of a step clockwise, p", ylabel="$v(1)/v(-1)$")
    ax.set_title(str(findings.FRONT[1]))


def boundary(ax: Axes) -> None:
    """The probability from which walks lose the parent, and the law for it."""
    groups = curves("walk_parent", "probability p")
    for (kind, _), runs in groups.items():
        for place, (x, y) in enumerate(runs):
            if kind == "run":
                name = "16 runs" if place == 0 else None
                ax.plot(x, y, "o", color=BLUE, alpha=0.4, markersize=3, label=name)
            elif kind == "theory":
                ax.plot(x, y, "--", color="black", linewidth=1, label="our law")
    ax.set(xlabel="states of the circle, K", ylabel="smallest p that loses the parent")
    ax.set_title(str(findings.FRONT[2]))


def draw() -> Figure:
    """Return the picture."""
    with mpl.rc_context(plot.STYLE):
        figure = Figure(figsize=(8.4, 2.5), dpi=160, layout="constrained")
        for ax, part in zip(figure.subplots(1, 3), (staircase, root, boundary), strict=True):
            part(ax)
            ax.legend()
    return figure


def write() -> None:
    """Write the picture."""
    pictures.save(draw(), PICTURE)
