"""A verdict as a picture of 120 × 16 pixels: interval, typical number and claimed side."""

import math
import re
from collections.abc import Mapping
from typing import Any

WIDTH, HEIGHT = 120, 16
_MARGIN = 8  # pixels on each side of what is shown


def strip(claim: Mapping[str, Any]) -> str:
    """Return the picture of a claim's record as SVG; "" if it was not judged by replicates.

    The claimed side of the bound is shaded. The line is the interval, which runs to the edge where
    it is open, and the dot is the typical number.

    Args:
        claim: the record of a claim, as `record_claim` returns it.

    Example:
        >>> from jaxtheory.reports.strip import strip
        >>> claim = {"satisfied": 16, "measured": 1.0, "interval": [0.5, 1.5], "bound": "≤ 2"}
        >>> strip(claim)[:47]
        '<svg class="strip" width="120" height="16" aria'
    """
    number, interval = claim.get("measured"), claim.get("interval") or (None, None)
    if number is None or claim.get("satisfied") is None:
        return ""
    low, high = _ends(claim["bound"])
    shown = [x for x in (number, *interval, low, high) if x is not None and math.isfinite(x)]
    least, span = min(shown), max(shown) - min(shown)

    def place(x: float | None, edge: int) -> float:
        if x is None or not math.isfinite(x):
            return edge
        inner = WIDTH - 2 * _MARGIN
        return round(_MARGIN + inner * ((x - least) / span if span else 0.5), 1)

    sides = place(low, 0), place(high, WIDTH)
    ends = place(interval[0], 0), place(interval[1], WIDTH)
    bounds = [x for x, end in zip(sides, (low, high), strict=True) if math.isfinite(end)]
    parts = [
        f'<rect x="{sides[0]}" width="{max(sides[1] - sides[0], 1):.1f}" height="{HEIGHT}"/>',
        *(f'<path class="bound" d="M{x} 0v{HEIGHT}"/>' for x in bounds),
        f'<path d="M{ends[0]} 8H{ends[1]}"/>',
        f'<circle cx="{place(number, 0)}" cy="8" r="3.5"/>',
    ]
    head = f'<svg class="strip" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">'
    return f"{head}{''.join(parts)}</svg>"


def _ends(bound: str) -> tuple[float, float]:
    """The ends of a bound such as ≥ 1, ≤ 1 or 1 to 2."""
    numbers = [float(word) for word in re.findall(r"-?(?:inf|\d\S*)", bound)]
    if bound.startswith("≥"):
        return numbers[0], math.inf
    if bound.startswith("≤"):
        return -math.inf, numbers[0]
    return numbers[0], numbers[1]
