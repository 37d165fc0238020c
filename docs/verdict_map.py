"""The map of all verdicts: a square for each claim, a row for each theory, printed claims first."""

import re
from html import escape
from typing import Any

import evidence

import jaxtheory
from jaxtheory.reports.tally import ORIGINS

FILE = evidence.DOCS / "map.svg"
PICTURE = re.compile(r"!\[[^\]]*\]\(map\.svg\)")  # on a page in git
SIDE, GAP, LEFT, TOP, LINE = 11, 3, 168, 34, 38  # pixels; a line has at most LINE squares
NAMES = {"networks": "standard Transformers", "llama": "Llama checkpoints"}
STYLE = """
.map { max-width: 100%; height: auto }
.map text { font: 12px system-ui, sans-serif; fill: #222 }
.map .holds { fill: #0072b2 } .map .fails { fill: #d55e00 }
.map .open { fill: none; stroke: #767676 } .map path { stroke: #fff; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { .map text { fill: #ddd } .map .open { stroke: #aaa } }
"""
CLASSES = {"holds": "holds", "fails": "fails"}  # else open: undecided, an example, not run


def square(x: float, y: float, decision: str) -> str:
    """Return the square of a verdict; one that fails has a cross, so that no color is needed."""
    kind, inset = CLASSES.get(decision, "open"), 0.5 * (decision not in CLASSES)
    side = SIDE - 2 * inset
    drawn = f'<rect class="{kind}" x="{x + inset}" y="{y + inset}" width="{side}" height="{side}"/>'
    cross = f'<path d="M{x + 3} {y + 3}l5 5m0-5l-5 5"/>' if decision == "fails" else ""
    return drawn + cross


def legend() -> str:
    """Return the line that says what squares mean."""
    words = {"holds": "holds", "fails": "fails", "": "undecided, an example or not run"}
    parts, x = [], LEFT
    for decision, word in words.items():
        parts.append(square(x, 6, decision) + f'<text x="{x + 17}" y="16">{word}</text>')
        x += 30 + 7 * len(word)
    return "".join(parts)


def lines() -> list[tuple[str, str, list[str]]]:
    """Return (room, origin, claims) of each line, at most LINE claims long."""
    groups = []
    for room in (*jaxtheory.theories.names(), *NAMES):
        for origin in ORIGINS:
            names = [
                name
                for name, entry in evidence.entries().items()
                if (entry.room, entry.claim.origin.kind) == (room, origin)
            ]
            groups += [(room, origin, names[i : i + LINE]) for i in range(0, len(names), LINE)]
    return groups


def draw(found: dict[str, Any], ending: str = "") -> str:
    """Return the map as SVG; with an ending such as ".html" each square leads to its claim."""
    parts, y, before = [legend()], float(TOP), ("", "")
    for room, origin, names in lines():
        if room != before[0]:
            y += 8
            parts.append(f'<text x="0" y="{y + 10}">{escape(NAMES.get(room, room))}</text>')
        if (room, origin) != before:
            x = LEFT + LINE * (SIDE + GAP) + 6
            parts.append(f'<text x="{x}" y="{y + 10}">{origin}</text>')
        before = room, origin
        for place, name in enumerate(names):
            record = found["claims"].get(name, {"decision": "", "finding": "not run yet"})
            title = f"{name}, {record['finding']}: {evidence.entries()[name].claim.statement}"
            one = square(LEFT + place * (SIDE + GAP), y, record["decision"])
            one = f"<g><title>{escape(title)}</title>{one}</g>" if ending else one
            link = f"{evidence.page(room).stem}{ending}#{name.lower()}"
            parts.append(f'<a href="{link}">{one}</a>' if ending else one)
        y += SIDE + GAP
    width, height = LEFT + LINE * (SIDE + GAP) + 100, y + 4
    box = f'viewBox="0 0 {width} {height:g}" width="{width}"'
    name = 'role="img" aria-label="Each claim as a square: it holds, fails or is undecided"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="map" {box} {name}>'
    return "\n".join((head, f"<style>{STYLE}</style>", *parts, "</svg>")) + "\n"


def on_site(text: str) -> str:
    """Return a page with the map itself in the place of its picture, so that squares are links."""
    return PICTURE.sub(lambda _: draw(evidence.load(), ".html").rstrip(), text)
