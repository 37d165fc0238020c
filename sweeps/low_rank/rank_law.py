"""Does a change have the rank of the classes, or of relevant patterns that occur independently?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation, last
from jaxtheory.theories.low_rank import S1

from . import PAPER, TRUNCATED, Function, law, panels, pick, rank_cost, runs

TASKS: dict[str, list] = {
    "case": ["R=2", "R=4", "R=6", "R=4 together", "K=3", "K=6", "K=2 R=4", "R=4 P", "K=3 P"],
    "num_relevant_patterns": [2, 4, 6, 4, 3, 6, 4, 4, 3],
    "num_classes": [2, 2, 2, 2, 3, 6, 2, 2, 3],
    "task": ["binary"] * 4 + ["multiclass"] * 3 + ["binary", "multiclass"],
    "occurrence": ["independent"] * 3 + ["together"] + ["independent"] * 5,
    "num_relevant": [9, 9, 9, 8, 9, 9, 9, 9, 9],
    "num_confusion": [3, 3, 3, 2, 3, 3, 3, 3, 3],
    "output": ["shared"] * 7 + ["per_token"] * 2,  # P: one a per position
    "learning_rate": [1.0] * 7 + [3.0] * 2,
}
KEYS, VALUES = ["WQ", "WK"], ["WV", "WO"]
LAW = "gap_rank_law"


def over_first(data: xr.Dataset, matrices: list[str], rank: xr.DataArray) -> xr.DataArray:
    """s_r / s_1."""
    s = last(data.singular_values).sel(matrix=matrices)
    return s.sel(index=rank).drop_vars("index") / s.sel(index=1, drop=True)


def gap(matrices: list[str]) -> Function:
    """s_(r + 1) / s_r of some matrices at the rank r of the law."""

    def measure(data: xr.Dataset) -> xr.DataArray:
        r = law(data, LAW).sel(matrix=matrices).astype(int)
        return over_first(data, matrices, r + 1) / over_first(data, matrices, r)

    return measure


def draw(data: xr.Dataset) -> plot.Drawing:
    """The rank of each change, outlined where it is not the law's, and the loss by rank beyond C.

    P: one a per position.
    """
    data = data.assign_coords(case=[str(c).replace("K=", "C=") for c in data.case.values])
    figure, (ranks, costs) = panels(2, "R patterns, C classes", width=4.2, height=3.4)
    rank, expected = last(data.gap_rank), law(data, LAW)
    plot.heat(ranks, rank, "matrix", "case", label="rank, by the largest gap", digits=0)
    differing = abs(rank.mean("seed") - expected) > 0.5
    plot.boundary(ranks, differing, "matrix", "case", "not the rank of the law", measured=True)
    plot.finish(ranks, "", "", legend=False)
    if not differing.any():
        plot.remark(figure, "All ranks are those of the law.")
    classes = np.unique(data.num_classes)
    for color, C in zip(plot.shades(len(classes)), classes, strict=True):
        for k in np.flatnonzero(data.num_classes == C):
            one = data.truncated_loss.isel(case=k)
            near = one.assign_coords(kept_rank=one.kept_rank - C).sel(kept_rank=slice(-5, 5))
            label = f"C = {C}" if k == np.flatnonzero(data.num_classes == C)[0] else ""
            plot.series(costs, near, "kept_rank", label, color=color)
    plot.finish(costs, "rank that is kept, minus C", "test hinge loss")
    return figure


FIGURE = Figure(
    name="rank_law",
    source=f"{PAPER}, remark 1, and its summary, beyond R = 2",
    finding=Finding(
        "Updates need not have rank R for R relevant patterns, and rank C for C classes costs at most 0.01 of loss",
        rests_on=("LR-51", "LR-52"),
    ),
    theory=TRUNCATED,
    config=S1.replace(num_test=100),
    sweep=runs(180, zip=TASKS),
    quick={"zip": pick(TASKS, 0, 1, 2), "seeds": 2, "steps": 120, "record": [0, 120]},
    draw=draw,
    claims=(
        Claim(
            "LR-48",
            origin=derived("corrected: independently occurring patterns"),
            statement="For W_Q and W_K, the gap of the singular values is after the R-th: s_(R+1) is at most 0.05 of s_R, where R is the number of relevant patterns that occur independently.",
            measure=Measure(
                "s_(R+1) / s_R of W_Q, W_K, R independent patterns, each task", gap(KEYS)
            ),
            bound=at_most(0.05),
            why="It is the law for the scores: patterns that always occur together count as one.",
        ),
        Claim(
            "LR-50",
            origin=derived("corrected: classes"),
            statement="For W_V and W_O, the gap of the singular values is after the C-th: s_(C+1) is at most 0.5 of s_C, where C is the number of classes.",
            measure=Measure("s_(C+1) / s_C of W_V, W_O, C classes, each task", gap(VALUES)),
            bound=at_most(0.5),
            why="It is the law for the values: they follow what is asked, not what the data show.",
        ),
        Claim(
            "LR-51",
            origin=interpretation("summary", "core contribution"),
            statement="The “rank equal to the number of label-relevant patterns in the data”, read as: s_R of each of the four matrices is at least 0.15 of s_1, in every task, also with more patterns than classes.",
            measure=Measure(
                "s_R / s_1 of each of four matrices, R relevant patterns, each task",
                lambda data: over_first(data, KEYS + VALUES, data.num_relevant_patterns),
            ),
            bound=at_least(0.15),
            expect="fails",
            why="With two patterns and two classes the sentence cannot be told from a rank equal to the number of classes.",
        ),
        Claim(
            "LR-52",
            origin=derived("corrected: classes"),
            statement="Rank C, the number of classes, suffices: to cut all changes to it costs at most 0.01 of loss, in every task.",
            measure=Measure(
                "rise of the loss, all changes cut to rank C (classes), each task",
                lambda data: rank_cost(data, data.num_classes),
            ),
            bound=at_most(0.01),
            why="Who compresses an update needs as many directions as there are classes, however many patterns there are.",
        ),
    ),
)
