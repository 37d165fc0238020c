"""Which initial delta and xi let attention learn, and what of W_Q and W_K is of order delta?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    between,
    derived,
    exponent,
    interpretation,
)
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, runs
from ._training import ENDS, gain, title
from .rank_projections import parts


def irrelevant(data: xr.Dataset) -> xr.DataArray:
    """The mean size of the irrelevant diagonal of W_Q and W_K."""
    return parts(abs(data.projections.sel(projection=["WQ", "WK"]))).irrelevant_diagonal


def power(data: xr.Dataset) -> xr.DataArray:
    """The exponent of delta in it."""
    return exponent(irrelevant(data), "init_diagonal")


def draw(data: xr.Dataset) -> plot.Drawing:
    """The irrelevant diagonal of W_Q and W_K and the gain of attention against delta.

    Both are drawn for both interpretations of A, the diagonal at the middle xi, the gain at each.
    The loss is small everywhere.
    """
    figure, ((diagonal, gains),) = plot.panels(2, title=title(data), width=4.0, height=3.4)
    names = {"shared": "one a for all positions", "per_token": "one a per position"}
    sizes = irrelevant(data).isel(output_scale=len(data.output_scale) // 2)
    delta = data.init_diagonal.values
    for color, output in enumerate(data.output.values):
        for matrix in sizes.projection.values:
            some = sizes.sel(output=output, projection=matrix)
            label = f"{matrix}, {names[str(output)]}"
            if output == "shared":  # both are equal
                label = f"WQ and WK, {names['shared']}" * (matrix == "WQ")
            plot.series(diagonal, some, "init_diagonal", label, color=color)
        some = gain(data).sel(output=output)
        for xi in data.output_scale.values:
            label = names[str(output)] if xi == data.output_scale[0] else ""
            plot.series(gains, some.sel(output_scale=xi), "init_diagonal", label, color=color)
    start = float(sizes.sel(output=data.output[0]).isel(init_diagonal=0).mean())
    plot.theory(diagonal, delta, start * delta / delta[0], "", color=0, says="in proportion to δ")
    label = "size of the irrelevant diagonal"
    plot.finish(diagonal, "diagonal at the start, δ", label, xscale="log", yscale="log")
    plot.finish(gains, "diagonal at the start, δ", "gain of attention", xscale="log")
    scales = ", ".join(f"{xi:g}" for xi in data.output_scale.values)
    plot.remark(figure, f"Lines of one color, right: ξ = {scales}.")
    return figure


FIGURE = Figure(
    name="attention_start",
    source=f"{PAPER}, figure 1B and (8): delta and xi",
    finding=Finding(
        "The irrelevant diagonal of ΔW_Q and ΔW_K scales as its start δ for shared, but not per-position output weights",
        rests_on=("LR-113", "LR-114"),
    ),
    theory=only("projections"),
    config=S1.replace(learning_rate=3.0),
    sweep=runs(
        160,
        record=ENDS,
        vary={
            "output": ["shared", "per_token"],
            "init_diagonal": [0.01, 0.02, 0.05, 0.1, 0.2],
            "output_scale": [0.01, 0.1, 0.3],
        },
    ),
    quick={
        "vary": {"output": ["shared"], "init_diagonal": [0.1], "output_scale": [0.1]},
        "seeds": 2,
    },
    draw=draw,
    claims=(
        Claim(
            "LR-113",
            origin=interpretation(PAPER, "(8), second inequality"),
            statement="(8), an irrelevant diagonal of W_Q and W_K of O(delta), read as: its mean size falls with delta from 0.2 to 0.01, with an exponent of at least 0.75, for each xi and with both readings of the output weights.",
            measure=Measure(
                "exponent in δ of irrelevant diagonals of W_Q, W_K, each ξ, both A", power
            ),
            bound=at_least(0.75),
            expect="fails",
            why="It is the theorem's only bound that depends on the start.",
        ),
        Claim(
            "LR-114",
            origin=derived("measured: corrects (8)"),
            statement="With one a for all positions the irrelevant diagonal of W_Q and W_K is proportional to delta: the exponent of its mean size is 0.8 to 1.25 for each xi.",
            measure=Measure(
                "exponent in δ of irrelevant diagonals of W_Q, W_K, one a, each ξ",
                lambda data: power(data).sel(output="shared"),
            ),
            bound=between(0.8, 1.25),
            why="With one a per position attention has the time to forget its start, and the bound fails.",
        ),
    ),
)
