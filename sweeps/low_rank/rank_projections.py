"""Which entries of mu_i^T Delta W mu_j grow, against theorem 1?

P_ij = mu_i^T Delta W mu_j, mean over the runs; patterns 1 and 2 are relevant. The theorem's
constants are not given, so ratios are claimed. Long, because theorem 1 is seven bounds, each with
its interpretation or its failure.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, interpretation
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, QUICK, Measure, bars, only


def parts(P: xr.DataArray) -> xr.Dataset:
    """Means over blocks: relevant diagonal and cross terms, irrelevant rows on relevant columns and
    the other way round, the irrelevant diagonal.
    """
    i, j = (xr.DataArray(np.arange(P.sizes["pattern"]), dims=dim) for dim in ("left", "pattern"))
    row, column = i < 2, j < 2  # of a relevant pattern
    blocks = {
        "relevant_diagonal": (i == j) & row,
        "relevant_cross": (i != j) & row & column,
        "irrelevant_rows": ~row & column,
        "irrelevant_columns": row & ~column,
        "irrelevant_diagonal": (i == j) & ~row,
    }
    means = {name: P.where(block).mean(["left", "pattern"]) for name, block in blocks.items()}
    return xr.Dataset(means)


def part(name: str, matrix: str, **some: Any) -> Measure:
    """A mean block, per seed, in every setting or some."""
    return lambda data: parts(data.projections)[name].sel(projection=matrix, **some)


def largest_off(data: xr.Dataset, setting: str, *matrices: str) -> xr.DataArray:
    """(7): mean sizes of cross terms and irrelevant rows over the diagonal, a positive one."""
    P = data.projections.sel(setting=setting, projection=list(matrices))
    sizes, diagonal = parts(abs(P)).mean("seed"), parts(P).relevant_diagonal.mean("seed")
    largest = np.maximum(sizes.relevant_cross, sizes.irrelevant_rows)
    return largest / diagonal.where(diagonal > 0, 0)


def off_values(data: xr.Dataset, setting: str) -> xr.DataArray:
    """(9): mean size of the irrelevant rows of W_V over the size of the mean diagonal."""
    P = data.projections.sel(setting=setting, projection="WV")
    size, diagonal = parts(abs(P)).irrelevant_rows, parts(P).relevant_diagonal
    return size.mean("seed").astype(float) / abs(diagonal.mean("seed").astype(float))


def own_cosine(data: xr.Dataset, setting: str) -> xr.DataArray:
    """cos(o_i, mu of its class), mean over the neurons with |o_i| > 0.2; 0 without such."""
    d = data.sel(setting=setting)
    first, second = (d.neuron_projections.isel(pattern=c) for c in (0, 1))
    own = xr.where(d.neuron_class == 0, first, second)
    return (own / d.neuron_norms).where(d.neuron_norms > 0.2).mean("neuron").fillna(0)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The mean blocks of each matrix, a bar for each setting."""
    title = rf"$\mu_i^\top \Delta W \mu_j$: means over blocks (n = {data.sizes['seed']} seeds)"
    figure, axes = plot.panels(3, title=title, width=6.7, height=2.0, across=1)
    found = parts(data.projections).to_array("block")
    names = [str(name).replace("_", "\n") for name in found.block.values]
    for ax, matrix in zip(axes[0], data.projection.values, strict=True):
        bars(ax, found.sel(projection=matrix), names)
        ax.axhline(0, color="#333333", linewidth=0.6)
        plot.finish(ax, "", f"mean projection, {matrix}", legend=False)
        ax.set_yscale("symlog", linthresh=0.01)
    plot.legend_below(figure, axes[0, 0])
    plot.remark(figure, "Each bar is a mean over its block, too; the scale is linear below 0.01.")
    return figure


FIGURE = Figure(
    name="rank_projections",
    source=f"{PAPER}, theorem 1",
    theory=only("projections", "neuron_norms", "neuron_class", "neuron_projections"),
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "LR-31",
            origin=interpretation(PAPER, "(7)"),
            statement="(7) read as: on relevant columns of W_Q and W_K, the diagonal is at least 10 times the mean size of all other entries, in S1.",
            measure=lambda data: largest_off(data, "S1", "WQ", "WK"),
            bound=at_most(0.1),
            statistic="each",
        ),
        Claim(
            "LR-32",
            origin=interpretation(PAPER, "(7)"),
            statement="(7) read as the same for W_K of P1.",
            measure=lambda data: largest_off(data, "P1", "WK"),
            bound=at_most(0.1),
            statistic="each",
            expect="fails",
        ),
        Claim(
            "LR-33",
            origin=interpretation(PAPER, "(7)"),
            statement="(7), cross terms of O(1/(MT)), read as: in W_Q of P1p they are at most 1/M = 0.05 of the diagonal, on average.",
            measure=lambda data: (
                part("relevant_cross", "WQ", setting="P1p")(data)
                / part("relevant_diagonal", "WQ", setting="P1p")(data)
            ),
            bound=at_most(0.05),
            expect="fails",
        ),
        Claim(
            "LR-35",
            origin=interpretation(PAPER, "(8), its sign only"),
            statement="(8) read as its sign: irrelevant columns of W_Q have a positive mean in relevant rows, in every setting.",
            measure=part("irrelevant_columns", "WQ"),
            bound=at_least(1e-4),
        ),
        Claim(
            "LR-36",
            origin=interpretation(PAPER, "(8), its sign only"),
            statement="(8) read as its sign: irrelevant columns of W_K have a positive mean in relevant rows, in some setting.",
            measure=part("irrelevant_columns", "WK"),
            bound=at_least(0.0),
            where="somewhere",
            expect="fails",
        ),
        Claim(
            "LR-37",
            origin=interpretation(PAPER, "(9)"),
            statement="(9) read as: irrelevant rows of W_V are at most a tenth of the relevant diagonal in size, in S1.",
            measure=lambda data: off_values(data, "S1"),
            bound=at_most(0.1),
            expect="fails",
        ),
        Claim(
            "LR-38",
            origin=interpretation(PAPER, "(9)"),
            statement="(9) read as the same in G.",
            measure=lambda data: off_values(data, "G"),
            bound=at_most(0.1),
        ),
        Claim(
            "LR-40",
            origin=interpretation(PAPER, "(11), (12)"),
            statement="Neurons “are close to either” relevant pattern, read as: those of norm above 0.2 have a mean cosine of at least 0.8 with the pattern of their class, in G.",
            measure=lambda data: own_cosine(data, "G"),
            bound=at_least(0.8),
        ),
        Claim(
            "LR-41",
            origin=interpretation(PAPER, "(11), (12)"),
            statement="That neurons “are close to either” is read as the same in S1.",
            measure=lambda data: own_cosine(data, "S1"),
            bound=at_least(0.8),
            expect="fails",
        ),
    ),
)
