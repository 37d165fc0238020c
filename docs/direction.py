"""The slider on the built page of random_walk: v(1)/v(−1) of two laws and of trained layers.

The mark `<!-- slider -->` becomes a drawing in SVG, and `_static/direction.js` moves it.
"""

import csv
import gzip
import io
import math
from pathlib import Path
from typing import NamedTuple

NUMBERS = Path(__file__).parent / "gallery" / "walk_direction.csv.gz"
MARK = "<!-- slider -->"
LOW, HIGH, STEP, START = 50, 95, 1, 80  # percent: the ends of p, its step, and where it begins
LEFT, RIGHT, TOP, BOTTOM, MOST = 46, 440, 26, 236, 20  # pixels of the panel; its largest ratio


class Dot(NamedTuple):
    """The mean ratio of trained layers at one p, and the number of runs."""

    p: float
    ratio: float
    runs: int


def trained() -> list[Dot]:
    """Return what was measured at p from 1/2 on: runs that select the parent, at the last step."""
    table = csv.DictReader(io.StringIO(gzip.decompress(NUMBERS.read_bytes()).decode()))
    rows = [row for row in table if row["panel"] == "1" and row["kind"] == "line"]
    dots = [Dot(float(row["x"]), float(row["y"]), int(row["n"])) for row in rows]
    return [dot for dot in dots if dot.p >= LOW / 100]


def at(p: float, ratio: float) -> tuple[float, float]:
    """Return where a ratio is drawn."""
    x = LEFT + (RIGHT - LEFT) * (100 * p - LOW) / (HIGH - LOW)
    return round(x, 1), round(BOTTOM - (BOTTOM - TOP) * math.log(ratio) / math.log(MOST), 1)


def curve(power: float, name: str) -> str:
    """Return the curve of the odds p/(1 − p) to a power, a point for each place of the slider."""
    places = [percent / 100 for percent in range(LOW, HIGH + STEP, STEP)]
    points = " ".join("{},{}".format(*at(p, (p / (1 - p)) ** power)) for p in places)
    return f'<polyline class="{name}" points="{points}"/>'


def axes() -> str:
    """Return the lines and numbers of both axes, and their names."""
    parts = []
    for ratio in (1, 2, 5, 10, 20):
        y = at(0.5, ratio)[1]
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{ratio}</text>')
    for percent in range(50, 100, 10):
        x = at(percent / 100, 1)[0]
        text = f"{percent / 100:g}"
        parts.append(f'<text x="{x}" y="{BOTTOM + 18}" text-anchor="middle">{text}</text>')
    middle = (LEFT + RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{BOTTOM + 38}" text-anchor="middle">p</text>')
    return "".join(parts)


def names() -> str:
    """Return the names of the curves and of the dots, each beside what it names."""
    (x, y), (u, v) = at(0.78, (0.78 / 0.22)), at(0.87, (0.87 / 0.13) ** 0.5)
    return (
        f'<text x="{x - 8}" y="{y - 8}" text-anchor="end">Πᵀ, the theorem</text>'
        f'<text x="{u + 4}" y="{v + 24}">√Πᵀ</text>'
        f'<circle class="trained" r="4.5" cx="{LEFT + 24}" cy="{TOP + 16}"/>'
        f'<text x="{LEFT + 34}" y="{TOP + 20}">trained</text>'
    )


def drawing() -> str:
    """Return the slider and its drawing as HTML without empty lines, as Markdown needs it."""
    dots = trained()
    marks = (
        '<circle class="trained" r="4.5" cx="{}" cy="{}"/>'.format(*at(dot.p, dot.ratio))
        for dot in dots
    )
    numbers = " ".join(f"{dot.p:g},{dot.ratio:.2f},{dot.runs}" for dot in dots)
    bounds = f'min="{LOW / 100:g}" max="{HIGH / 100:g}" step="{STEP / 100:g}"'
    seen = "v(1)/v(−1) against p from 0.5 to 0.95: the trained values lie on the curve of √Πᵀ"
    return "\n".join(
        (
            f'<div class="direction" data-trained="{numbers}">',
            f'<svg viewBox="0 0 460 280" role="img" aria-label="{seen}">',
            f'<text x="4" y="14">v(1)/v(−1)</text>{axes()}',
            f"{curve(1, 'theorem')}{curve(0.5, 'root')}{''.join(marks)}{names()}",
            f'<g class="now" visibility="hidden"><path d="M0 {TOP}V{BOTTOM}"/>',
            '<circle class="theorem" r="7"/><circle class="root" r="7"/></g></svg>',
            '<p hidden><label for="direction-p">Probability of a step clockwise, p</label>',
            f'<input id="direction-p" type="range" {bounds} value="{START / 100:g}"></p>',
            '<output for="direction-p"></output>',
            "</div>",
        )
    )


def on_site(text: str) -> str:
    """Return a page with the slider in the place of its mark."""
    return text.replace(MARK, drawing())
