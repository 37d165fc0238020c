"""How large may the initial strength of the second layer be, before the first one leaves its parents?

Stage one alone, on flat chains. Attention to the parent gains in proportion to β₀, and the noise of
T positions costs in proportion to β₀²; they balance at β* = T / (S α + 1).
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, crossing, derived, last

from . import ALPHA, PLAIN, QUICK, SMALL, THEORY, P, T

BETA, CASE = "initial_strength", "case"
SETTINGS = [(8, 8.0), (8, 32.0), (16, 8.0), (16, 32.0)]
RATIOS = [1 / 16, 1 / 4, 1.0, 2.0, 4.0, 8.0]
SMALLER, LARGE = RATIOS[:2], 8.0


def strength(length: int, alpha: float) -> float:
    """β* for S = 3."""
    return length / (3 * alpha + 1)


def setting(length: int, alpha: float) -> str:
    """The name of T and α."""
    return f"T = {length}, α = {alpha:g}"


def points(settings: list, ratios: list[float]) -> dict[str, Any]:
    """Values by case: T, α, β₀ as a multiple of β*, and a rate with η β₀ the same."""
    rows = [(length, alpha, r) for length, alpha in settings for r in ratios]
    return {
        CASE: [f"{setting(length, alpha)}, β₀ = {r:g} β*" for length, alpha, r in rows],
        T: [length for length, _, _ in rows],
        ALPHA: [alpha for _, alpha, _ in rows],
        BETA: [r * strength(length, alpha) for length, alpha, r in rows],
        "learning_rate": [190 * alpha / (r * strength(length, alpha)) for length, alpha, r in rows],
    }


def by_ratio(values: xr.DataArray) -> xr.DataArray:
    """Values by setting and by β₀ over β*."""
    pairs = [*zip(values[T].values, values[ALPHA].values, strict=True)]
    ratios = values[BETA].values / [strength(*pair) for pair in pairs]
    at: dict[Any, Any] = {
        "setting": (CASE, [setting(*pair) for pair in pairs]),
        "ratio": (CASE, ratios.round(6)),
    }
    flat = values.drop_vars([CASE, T, ALPHA, BETA, "learning_rate"]).assign_coords(at)
    return flat.set_index(case=["setting", "ratio"]).unstack(CASE)


def kept(data: xr.Dataset) -> xr.DataArray:
    """The share of rows at the parent at the end, less that after one step."""
    return by_ratio(last(data.parent_selected) - data.parent_selected.sel(step=1, drop=True))


def threshold(data: xr.Dataset) -> xr.DataArray:
    """β₀ over β* at which the attention to the parent at the end falls through a half."""
    attention = by_ratio(last(data.parent_attention))
    logs = attention.assign_coords(ratio=np.log(attention.ratio)).rename(ratio="step")
    return xr.apply_ufunc(np.exp, crossing(logs, 0.5))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Attention to the parent at the end, and rows at the parent, against β₀ and β₀ / β*."""
    figure, (axes,) = plot.panels(3, width=3.0)
    attention = by_ratio(last(data.parent_attention))
    for i, pair in enumerate(SETTINGS):
        if (name := setting(*pair)) not in attention.setting.values:
            continue
        one, change = attention.sel(setting=name), kept(data).sel(setting=name)
        absolute = one.assign_coords(ratio=one.ratio * strength(*pair))
        plot.series(axes[0], absolute, "ratio", name, color=i)
        plot.series(axes[1], one, "ratio", name, color=i)
        plot.series(axes[2], change, "ratio", name, color=i)
    plot.finish(axes[0], "initial strength β₀", "attention to the parent", xscale="log")
    axes[1].axvline(1.0, color="0.3", lw=0.8, ls="--", label="β*")
    plot.finish(axes[1], "β₀ / β*", "attention to the parent", xscale="log")
    plot.reference(axes[2], None, 0.0)
    plot.finish(axes[2], "β₀ / β*", "rows at the parent: end − step 1", xscale="log")
    return figure


FIGURE = Figure(
    name="graph_strength",
    source="derived: noise of the output against the information of flat chains",
    finding=Finding(
        "On flat chains the first layer has its parents up to β₀ of order β* = T/(S α + 1), and few of them at 8 β*",
        rests_on=("CG-33", "CG-34", "CG-35"),
    ),
    theory=THEORY,
    config=SMALL.replace(**{P: 10000}, switch_step=1000),
    sweep=PLAIN
    | {
        "zip": points(SETTINGS, RATIOS),
        "algorithm": "two_stage",
        "steps": 300,
        "record": [0, 1, 300],
        "buckets": "exact",
    },
    quick=QUICK
    | {
        "zip": points(SETTINGS[:2], [0.25, 4.0]),
        "steps": 10,
        "record": [0, 1, 10],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "CG-33",
            origin=derived("derived: β* = T/(S α + 1)"),
            statement="On flat chains (α = 8 and 32, T = 8 and 16) the attention to the parent falls through one half at a β₀ between 1 and 3.5 times β* = T/(S α + 1), which varies eightfold.",
            measure=Measure("β₀/β* at which attention to the parent is 1/2, each T, α", threshold),
            bound=between(1.0, 3.5),
            why="Attention to the parent gains β₀ g/S, and the noise of T positions costs of order β₀²/T.",
        ),
        Claim(
            "CG-34",
            origin=derived("derived: a small strength"),
            statement="Up to β₀ = β*/4 training keeps the parents that its first step found: the share of rows at the parent falls by at most 0.15 from step 1 to the end, for α = 8 and 32, T = 8 and 16.",
            measure=Measure(
                "share of rows at the parent, end less step 1, β₀ ≤ β*/4, each T, α",
                lambda data: kept(data).sel(ratio=SMALLER),
            ),
            bound=at_least(-0.15),
            panel=2,
            why="The derivation of the first gradient takes a small β₀, and small is measured by β*.",
        ),
        Claim(
            "CG-35",
            origin=derived("derived: a large strength"),
            statement="From β₀ = 8 β* at most a third of the rows ends at the parent, for α = 8 and 32, T = 8 and 16.",
            measure=Measure(
                "share of rows at the parent at the end, β₀ = 8 β*, each T, α",
                lambda data: by_ratio(last(data.parent_selected)).sel(ratio=LARGE),
            ),
            bound=at_most(1 / 3),
            why="Beyond β* less attention to the parent has less noise; at 2 to 4 β* training leaves parents that its first step had found.",
        ),
    ),
)
