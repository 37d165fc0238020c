"""How sticky may chains be, before a row finds its own token in place of its parent?

π = c I + (1 − c) π₀ with Dirichlet rows in π₀, α = 1/2, S = 3. At its own token the overlap is
(S − 1) c, at the parent (S − 1) c² + (1 − c)² g, so that the own token wins from
c* = g / (S − 1 + g) on; g = 0.469 is the overlap at the parent for c = 0.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    between,
    crossing,
    derived,
    last,
)

from . import PLAIN, SHIFTED, Shifted, T, lag

C = "stickiness"
SHARES = [0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5]
LENGTHS = [8, 16, 32, 64]
OVERLAP = 0.46893  # mean of the overlap at the parent for S = 3, α = 1/2, c = 0 (400,000 draws)
BOUNDARY = OVERLAP / (2 + OVERLAP)


def points(lengths: list[int]) -> dict[str, list]:
    """The rate that belongs to each T."""
    return {T: lengths, "learning_rate": [300.0 * (length / 16) ** 2 for length in lengths]}


def boundary(data: xr.Dataset) -> xr.DataArray:
    """The c at which half of the rows have their first descent at the parent, for each T."""
    shares = data.gradient_selected.isel(step=0, drop=True)
    return crossing(shares.rename({C: "step"}), 0.5)


def extrapolated(data: xr.Dataset) -> xr.DataArray:
    """The boundary for T to infinity, as a line in 1/T through T = 32 and 64."""
    at = boundary(data)
    return 2 * at.sel({T: 64}) - at.sel({T: 32})


def draw(data: xr.Dataset) -> plot.Drawing:
    """The share of rows at the parent in the first gradient and after training, against c."""
    figure, (axes,) = plot.panels(2)
    named = {"first descent": data.gradient_selected.isel(step=0, drop=True)}
    named["end of stage one"] = last(data.parent_selected)
    for ax, (name, shares) in zip(axes, named.items(), strict=True):
        for color, length in zip(plot.shades(data.sizes[T]), data[T].values, strict=True):
            plot.series(ax, shares.sel({T: length}), C, f"T = {length}", color=color)
        ax.axvline(BOUNDARY, color="0.3", lw=0.8, ls="--", label="c*, long prompts")
        plot.finish(ax, "stickiness c", "share of rows at the parent", name)
    return figure


FIGURE = Figure(
    name="graph_sticky",
    source="derived: the first gradient on sticky chains",
    finding=Finding(
        "On sticky chains the first gradient turns to the own token: from c = 0.19 on for long prompts, as the overlap says",
        rests_on=("CG-30", "CG-31"),
    ),
    theory=SHIFTED,
    config=Shifted(num_states=3, num_prompts=2000, concentration=0.5, switch_step=1000).replace(
        test_concentration=0.5
    ),
    sweep=PLAIN
    | {
        "zip": points(LENGTHS),
        "vary": {C: SHARES},
        "algorithm": "two_stage",
        "steps": 100,
        "record": [0, 100],
        "buckets": "exact",
    },
    quick={
        "config": Shifted(num_states=3, num_prompts=60, concentration=0.5, switch_step=1000),
        "zip": points([8, 12]),
        "vary": {C: [0.0, 0.2, 0.5]},
        "steps": 30,
        "record": [0, 30],
        "buckets": "pad",
        "seeds": 4,
    },
    draw=draw,
    claims=(
        Claim(
            "CG-30",
            origin=derived("derived: the overlap at the own token and at the parent"),
            statement="On sticky chains (S = 3, α = 1/2) the first gradient turns from the parent to the own token at c* = g/(S − 1 + g) = 0.190: the c at which half of the rows turn, extrapolated in 1/T from T = 32 and 64, is within 15 % of it.",
            measure=Measure(
                "c at which half of the first gradient's rows turn, T → ∞", extrapolated
            ),
            bound=between(0.85 * BOUNDARY, 1.15 * BOUNDARY),
            law=BOUNDARY,
            why="The own token has the overlap (S − 1) c, and the parent only (S − 1) c² + (1 − c)² g.",
        ),
        Claim(
            "CG-31",
            origin=derived("measured: the end of stage one"),
            statement="On sticky chains with c = 1/2 and T = 64 stage one gives at least 0.9 of the attention to the own token, the mean over all tokens.",
            measure=Measure(
                "mean attention to the own token after stage one, c = 1/2, T = 64",
                lambda data: lag(last(data.lags), 0).sel({C: 0.5, T: 64}),
            ),
            bound=at_least(0.9),
            why="At this c the first gradient is largest at the own token, and training follows it.",
        ),
        Claim(
            "CG-32",
            origin=derived("measured: the end of stage one"),
            statement="Up to the stickiness c = 0.1 stage one ends with each row at its parent, in each run, for T = 8 to 64.",
            measure=Measure(
                "share of rows at their parent after stage one, c ≤ 0.1, each T",
                lambda data: last(data.parent_selected).sel({C: slice(None, 0.1)}),
            ),
            bound=at_least(1.0),
            q=1,
            panel=1,
            why="Chains need not be free of stickiness, but of much of it.",
        ),
    ),
)
