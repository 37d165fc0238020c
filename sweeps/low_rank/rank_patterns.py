"""Which entries of mu_i^T Delta W mu_j depend on the number M of patterns, and how?

Long, because the blocks of (7) to (10) make nine statements on them.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    exponent,
    fitted_law,
    interpretation,
)
from jaxtheory.theories.low_rank import S1

from . import PAPER, SETTINGS, Function, only, panels, pick, runs, worst
from .rank_projections import parts

NAMES, COUNTS = ("P1", "G"), [14, 20, 26, 32, 44]
# as at M = 20, a share of 0.3 of the tokens is relevant for each M, and 0.1 confusing
SIZES: dict[str, list] = {
    **dict.fromkeys(("num_patterns", "dimension", "query_dim", "value_dim"), COUNTS),
    "num_relevant": [(M - 2) // 2 for M in COUNTS],
    "num_confusion": [(M - 2) // 6 for M in COUNTS],
}
TWO = pick(SETTINGS, 2, 4)
CELLS: dict[str, list] = {
    "cell": [f"{name}, M = {M}" for name in NAMES for M in COUNTS],
    **{
        word: [v for v in values for _ in COUNTS]
        for word, values in TWO.items()
        if word != "setting"
    },
    **{word: 2 * values for word, values in SIZES.items()},
}
BLOCKS = {
    ("WQ", "relevant_diagonal"): "relevant diagonal of $W_Q$",
    ("WQ", "irrelevant_columns"): "(8): relevant rows of $W_Q$",
    ("WV", "relevant_diagonal"): "(9): relevant diagonal of $W_V$",
    ("WV", "irrelevant_diagonal"): "(10): irrelevant diagonal of $W_V$",
    ("WV", "irrelevant_cross"): "(10): beside that diagonal",
    ("WV", "irrelevant_columns"): "(10): relevant rows of $W_V$",
}


def over_M(values: xr.DataArray, setting: str) -> xr.DataArray:
    """The cells of a setting over M."""
    some = values.sel(cell=[cell for cell in values.cell.values if str(cell).startswith(setting)])
    return some.assign_coords(cell=some.num_patterns.values).rename(cell="M")


def block(data: xr.Dataset, setting: str, matrix: str, name: str) -> xr.DataArray:
    """A mean block over M in a setting."""
    return over_M(parts(data.projections.sel(projection=matrix))[name], setting)


def fall(data: xr.Dataset, name: str, *matrices: str) -> xr.DataArray:
    """The exponents of M in the mean size of a block of some matrices, in each setting."""
    sizes = parts(abs(data.projections.sel(projection=list(matrices))))[name]
    return xr.concat([exponent(over_M(sizes, setting), "M") for setting in NAMES], "setting")


def shared(data: xr.Dataset) -> xr.DataArray:
    """The exponents of M in relevant rows of irrelevant columns over the relevant diagonal.

    They are those of W_Q and W_K, with one a for all positions.
    """
    sizes = parts(abs(data.projections.sel(projection=["WQ", "WK"])))
    return exponent(over_M(sizes.irrelevant_columns / sizes.relevant_diagonal, "G"), "M")


def power(name: str) -> Function:
    """The exponents of M in a mean block of W_V, in each setting.

    An exponent is NaN unless the block is positive for each M.
    """

    def measure(data: xr.Dataset) -> xr.DataArray:
        means = (block(data, setting, "WV", name) for setting in NAMES)
        return xr.concat([exponent(mean.where(mean > 0), "M") for mean in means], "setting")

    return measure


def draw(data: xr.Dataset) -> plot.Drawing:
    """Six blocks against M, with 1 / M."""
    figure, axes = panels(
        len(BLOCKS), "The blocks of theorem 1 against the number M of patterns", width=3.4, across=2
    )
    names = [n for n in NAMES if any(str(cell).startswith(n) for cell in data.cell.values)]
    for ax, ((matrix, name), label) in zip(axes, BLOCKS.items(), strict=True):
        for color, setting in enumerate(names):
            values = block(data, setting, matrix, name)
            M, above = values.M.values, values.where(values.mean("seed") > 0)
            fitted = f"{setting}, {plot.law(ax, fitted_law(above, 'M'))}"
            plot.series(ax, above, "M", fitted, color=color)
            law = abs(float(values.mean("seed")[0])) * M[0] / M
            plot.theory(ax, M, law, "" if color else "∝ 1/M", color=color)
        plot.finish(ax, "patterns M", label, xscale="log", yscale="log")
        plot.ticks(ax.xaxis, COUNTS)
    return figure


FIGURE = Figure(
    name="rank_patterns",
    source=f"{PAPER}, theorem 1 over M",
    finding=Finding(
        "With M = 14 to 44 patterns updates between irrelevant ones fall at least as M^−0.75, but cross terms need not",
        rests_on=("LR-107", "LR-108", "LR-33", "LR-37"),
    ),
    theory=only("projections"),
    config=S1,
    sweep=runs(160, zip=CELLS, record={"loss": [0, 150, 160]}, buckets="exact"),
    quick={"zip": pick(CELLS, 0, 1), "seeds": 2, "record": {"loss": [0, 160]}},
    draw=draw,
    claims=(
        Claim(
            "LR-33",
            origin=interpretation(PAPER, "(7), second inequality, over M"),
            statement="(7), cross terms of W_Q and W_K of O(1/(MT)), read as: irrelevant rows and the other relevant one fall with M in mean size, with an exponent of at most -0.75, in P1 and G.",
            measure=Measure(
                "exponent in M of mean cross terms of W_Q and W_K, P1 and G",
                lambda data: worst(
                    *(
                        fall(data, name, "WQ", "WK")
                        for name in ("relevant_cross", "irrelevant_rows")
                    )
                ),
            ),
            bound=at_most(-0.75),
            expect="fails",
            why="The order is what makes the update close to rank 2 when there are many patterns.",
        ),
        Claim(
            "LR-107",
            origin=interpretation(PAPER, "(8), third inequality"),
            statement="(8), O(1/M) beside the irrelevant diagonal of W_Q and W_K, read as: among irrelevant patterns these entries fall with M in mean size, with an exponent of at most -0.75, in P1 and G.",
            measure=Measure(
                "exponent in M of W_Q, W_K beside the irrelevant diagonal, P1 and G",
                lambda data: fall(data, "irrelevant_cross", "WQ", "WK"),
            ),
            bound=at_most(-0.75),
            why="A row of an irrelevant pattern enters through its share of the tokens, which is of order 1/M.",
        ),
        Claim(
            "LR-54",
            origin=interpretation(PAPER, "(9), first inequality"),
            statement="(9), a relevant diagonal of W_V of Omega(1), read as: the exponent of M is at least -0.25, in P1 and G.",
            measure=Measure(
                "exponent in M of the relevant diagonal of W_V, P1 and G",
                power("relevant_diagonal"),
            ),
            bound=at_least(-0.25),
            diverged="violates",
            why="The values must carry the label however many irrelevant patterns there are.",
        ),
        Claim(
            "LR-37",
            origin=interpretation(PAPER, "(9), second inequality, over M"),
            statement="(9), cross terms of W_V of O(1/(MT)), read as: irrelevant rows and the other relevant one fall with M in mean size, with an exponent of at most -0.75, in P1 and G.",
            measure=Measure(
                "exponent in M of mean cross terms of W_V, P1 and G",
                lambda data: worst(
                    *(fall(data, name, "WV") for name in ("relevant_cross", "irrelevant_rows"))
                ),
            ),
            bound=at_most(-0.75),
            expect="fails",
            why="The two classes share their values with opposite signs, so one cross term is of the size of the diagonal.",
        ),
        Claim(
            "LR-39",
            origin=interpretation(PAPER, "(10), first inequality"),
            statement="(10), an irrelevant diagonal of W_V of at least Omega(1/M), read as: the exponent of M is at least -1.25, in P1 and G.",
            measure=Measure(
                "exponent in M of the irrelevant diagonal of W_V, P1 and G",
                power("irrelevant_diagonal"),
            ),
            bound=at_least(-1.25),
            expect="fails",
            diverged="violates",
            why="A token of a pattern enters twice, through the neurons and through the mean token, which makes it 1/M^2.",
        ),
        Claim(
            "LR-108",
            origin=interpretation(PAPER, "(10), second inequality"),
            statement="(10), O(1/M) beside the irrelevant diagonal of W_V, read as: among irrelevant patterns these entries fall with M in mean size, with an exponent of at most -0.75, in P1 and G.",
            measure=Measure(
                "exponent in M of W_V beside the irrelevant diagonal, P1 and G",
                lambda data: fall(data, "irrelevant_cross", "WV"),
            ),
            bound=at_most(-0.75),
            why="Both the row and the column of an irrelevant pattern enter through its share of the tokens.",
        ),
        Claim(
            "LR-120",
            origin=interpretation(PAPER, "(10), second inequality, relevant rows"),
            statement="(10), O(1/M) in the relevant rows of irrelevant columns of W_V, too, read as: these entries fall with M in mean size, with an exponent of at most -0.75, in P1 and G.",
            measure=Measure(
                "exponent in M of relevant rows, irrelevant columns of W_V, P1 and G",
                lambda data: fall(data, "irrelevant_columns", "WV"),
            ),
            bound=at_most(-0.75),
            why="If an irrelevant token had a value on the relevant patterns, many of them would blur the label.",
        ),
        Claim(
            "LR-121",
            origin=interpretation(PAPER, "(8), first inequality, over M"),
            statement="(8), relevant rows of irrelevant columns of W_Q and W_K of Omega(1), read as: the exponent of M in their mean size is at least -0.25, in P1 and G.",
            measure=Measure(
                "exponent in M of relevant rows, irrelevant columns, W_Q, W_K, P1, G",
                lambda data: fall(data, "irrelevant_columns", "WQ", "WK"),
            ),
            bound=at_least(-0.25),
            expect="fails",
            why="The same line of (8) also says O(1/M) of these entries, and both cannot be true.",
        ),
        Claim(
            "LR-126",
            origin=derived("derived: rows of W_K sum to zero, and columns of W_Q go as n_i / n_r"),
            statement="With one a for all positions O(1/M) is right of the relevant rows of irrelevant columns of W_Q and W_K: over the relevant diagonal their entries go as 1/M, with an exponent of -1.35 to -0.9, in G.",
            measure=Measure(
                "exponent in M, (relevant rows of irrelevant columns) / diagonal, G", shared
            ),
            bound=between(-1.35, -0.9),
            law=-1.0,
            why="It decides which of the two contradictory lines of (8) to keep.",
        ),
    ),
)
