"""Which entries of mu_i^T Delta W mu_j grow, against theorem 1?

P_ij = mu_i^T Delta W mu_j; patterns 1 and 2 are relevant. The theorem's constants are not given, so
signs and ratios are claimed here, and orders in `rank_patterns` and `rank_growth`.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, QUICK, SHARED, Function, dots, only, worst


def parts(P: xr.DataArray) -> xr.Dataset:
    """Means over the blocks of P.

    The blocks are the relevant diagonal and cross terms, irrelevant rows on relevant columns and
    the other way round, the irrelevant diagonal and the entries beside it.
    """
    i, j = (xr.DataArray(np.arange(P.sizes["pattern"]), dims=dim) for dim in ("left", "pattern"))
    row, column = i < 2, j < 2  # of a relevant pattern
    blocks = {
        "relevant_diagonal": (i == j) & row,
        "relevant_cross": (i != j) & row & column,
        "irrelevant_rows": ~row & column,
        "irrelevant_columns": row & ~column,
        "irrelevant_diagonal": (i == j) & ~row,
        "irrelevant_cross": (i != j) & ~row & ~column,
    }
    means = {name: P.where(block).mean(["left", "pattern"]) for name, block in blocks.items()}
    return xr.Dataset(means)


def part(name: str, matrix: str | list[str]) -> Function:
    """A mean block in every setting."""
    return lambda data: parts(data.projections)[name].sel(projection=matrix)


def off_scores(data: xr.Dataset) -> xr.DataArray:
    """Mean size of the cross terms or of the irrelevant rows over the relevant diagonal.

    The larger one of both is taken, of W_Q and W_K, with one a for all positions.
    """
    P = data.projections.sel(setting=SHARED, projection=["WQ", "WK"])
    sizes = parts(abs(P))
    return np.maximum(sizes.relevant_cross, sizes.irrelevant_rows) / sizes.relevant_diagonal


def own_cosine(data: xr.Dataset) -> xr.DataArray:
    """The cosines of o_i and of o_i - o_i(0) with the pattern of the neuron's class.

    They are means over the larger half of the neurons.
    """
    large = data.neuron_norms >= data.neuron_norms.median("neuron")

    def mean(projections: xr.DataArray, sizes: xr.DataArray) -> xr.DataArray:
        """The mean of one of the two cosines."""
        first, second = (projections.isel(pattern=c) for c in (0, 1))
        own = xr.where(data.neuron_class == 0, first, second)
        return (own / sizes).where(large).mean("neuron")

    return worst(
        mean(data.neuron_projections, data.neuron_norms),
        mean(data.neuron_change_projections, data.neuron_changes),
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """The mean blocks of each matrix, a dot for each setting."""
    title = r"$\mu_i^\top \Delta W \mu_j$: means over blocks"
    figure, axes = plot.panels(3, title=title, width=6.7, height=2.0, across=1)
    blocks = parts(data.projections).to_array("block")
    names = [str(name).replace("_", "\n") for name in blocks.block.values]
    for ax, matrix in zip(axes[0], data.projection.values, strict=True):
        dots(ax, blocks.sel(projection=matrix), names if ax is axes[0, -1] else [""] * len(names))
        ax.axhline(0, color="#333333", linewidth=0.6)
        plot.finish(ax, "", f"mean projection, {matrix}", legend=False)
        ax.set_yscale("symlog", linthresh=0.01)
        ax.set_ylim(-6, 6)
    plot.legend_below(figure, axes[0, 0])
    plot.remark(figure, "Each dot is a mean over its block, too; the scale is linear below 0.01.")
    return figure


FIGURE = Figure(
    name="rank_projections",
    source=f"{PAPER}, theorem 1",
    finding=Finding(
        "ΔW_Q, ΔW_K have cross terms ≤ 0.25 of diagonals with shared output weights but need not draw irrelevant tokens",
        rests_on=("LR-36", "LR-31"),
    ),
    theory=only(
        "projections",
        "neuron_norms",
        "neuron_changes",
        "neuron_class",
        "neuron_projections",
        "neuron_change_projections",
    ),
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "LR-31",
            origin=derived("measured: (7) as a ratio"),
            statement="With one a for all positions (7) holds as a ratio: on relevant columns of W_Q and W_K, the other entries are at most 0.25 of the diagonal in mean size, in S1, S1p and G.",
            measure=Measure(
                "mean cross terms over the relevant diagonal, W_Q, W_K, S1, S1p, G", off_scores
            ),
            bound=at_most(0.25),
            why="The orders of (7) fail, but its message that the scores join a pattern to itself survives.",
        ),
        Claim(
            "LR-36",
            origin=interpretation(PAPER, "(8), first inequality"),
            statement="(8), relevant rows of irrelevant columns of Omega(1), read as: their entries have a positive mean in W_Q and in W_K, in every setting.",
            measure=Measure(
                "mean of relevant rows, irrelevant columns, W_Q, W_K, each setting",
                part("irrelevant_columns", ["WQ", "WK"]),
            ),
            bound=at_least(0.0),
            expect="fails",
            why="The theorem says that irrelevant tokens are drawn to the relevant ones as queries and as keys.",
        ),
        Claim(
            "LR-41",
            origin=interpretation(PAPER, "below theorem 1"),
            statement="“all other neurons and their gradient updates are close to either” relevant pattern, read as: the larger half of the neurons, and their changes, have a mean cosine of at least 0.8 with the pattern of their class, in every setting.",
            measure=Measure(
                "mean cosine of o_i, Δo_i with own class, larger half, each setting", own_cosine
            ),
            bound=at_least(0.8),
            expect="fails",
            why="It is the sentence that turns small and large neurons into sparsity with a meaning.",
        ),
    ),
)
