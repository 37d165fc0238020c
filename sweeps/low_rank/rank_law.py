"""Is the rank of a change that of the relevant patterns that occur independently, or that of the
classes?
"""

import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.low_rank import S1

from . import PAPER, TRUNCATED, Measure, last, lines, pick, rank_cost, worst

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
MORE = ["R=4", "R=6", "K=2 R=4", "R=4 P"]  # more patterns than classes, independent
KEYS, VALUES = ["WQ", "WK"], ["WV", "WO"]
INDEPENDENT, CLASSES = "corrected: independently occurring patterns", "corrected: classes"


def law(data: xr.Dataset) -> xr.DataArray:
    """The ranks that the law gives."""
    return data.predicted_gap_rank_law.isel(step=0, seed=0, drop=True)


def over_first(data: xr.Dataset, matrices: list[str], rank: xr.DataArray) -> xr.DataArray:
    """s_r / s_1."""
    s = last(data.singular_values).sel(matrix=matrices)
    return s.sel(index=rank).drop_vars("index") / s.sel(index=1, drop=True)


def beyond(matrices: list[str], more: int) -> Measure:
    """s_(r + more) / s_1 at the rank r of the law."""
    return lambda data: over_first(
        data, matrices, law(data).sel(matrix=matrices).astype(int) + more
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Singular values over the largest and the loss by rank with one a for all positions; ranks of
    all tasks, P: one a per position.
    """
    title = (
        "R relevant patterns, K outputs: singular values and truncation, "
        f"{data.sizes['seed']} seeds"
    )
    figure, axes = plot.panels(4, 2, title=title, width=3.3)
    shared = data.sel(case=[c for c in data.case.values if not str(c).endswith("P")])
    s = last(shared.singular_values) / last(shared.singular_values).sel(index=1)
    for ax, matrix in zip(axes[0], data.matrix.values, strict=True):
        lines(ax, s.sel(matrix=matrix).isel(index=slice(0, 8)), "index", "case")
        ax.set_ylim(1e-4, 1.5)
        plot.finish(ax, "index", f"singular value / largest, {matrix}", yscale="log", legend=False)
    lines(axes[1, 0], shared.truncated_loss.isel(kept_rank=slice(0, 8)), "kept_rank", "case")
    plot.finish(axes[1, 0], "all changes cut to rank r", "test hinge loss", legend=False)
    axes[1, 3].legend(*axes[1, 0].get_legend_handles_labels(), frameon=False, loc="center")
    axes[1, 3].set_axis_off()
    found, predicted = last(data.gap_rank).mean("seed"), law(data)
    for ax, values, label in (
        (axes[1, 1], found, "largest-gap rank"),
        (axes[1, 2], predicted, "rank of the law"),
    ):
        plot.heat(ax, values, "matrix", "case", label=label, digits=1)
        plot.finish(ax, "", "", legend=False)
    return figure


FIGURE = Figure(
    name="rank_law",
    source=f"{PAPER}, remark 1, beyond R = 2",
    theory=TRUNCATED,
    config=S1.replace(num_test=100),
    sweep={"zip": TASKS, "seeds": 8, "steps": 180, "record": [0, 180], "dtype": "float32"},
    quick={"zip": pick(TASKS, 0, 1, 2), "seeds": 2, "steps": 120, "record": [0, 120]},
    draw=draw,
    claims=(
        holds(
            "LR-48",
            "derived",
            INDEPENDENT,
            "W_Q, W_K: s_R is at least .15 of s_1, R the number of relevant patterns that occur "
            "independently.",
            beyond(KEYS, 0),
            at_least=0.15,
        ),
        holds(
            "LR-49",
            "derived",
            INDEPENDENT,
            "W_Q, W_K: the next one is at most .05 of s_1.",
            beyond(KEYS, 1),
            at_most=0.05,
        ),
        holds(
            "LR-50",
            "derived",
            CLASSES,
            "W_V, W_O: s_C is at least .35 of s_1, the next at most .25, C the number of classes.",
            lambda data: worst(0.35 - beyond(VALUES, 0)(data), beyond(VALUES, 1)(data) - 0.25),
            at_most=0.0,
        ),
        refuted(
            "LR-51",
            "reading",
            f"{PAPER}, remark 1",
            "With more relevant patterns than classes W_V or W_O has the rank of the patterns in "
            "some task: s_R is at least .15 of s_1.",
            lambda data: over_first(data, VALUES, data.num_relevant_patterns).sel(case=MORE),
            where="somewhere",
            at_least=0.15,
        ),
        holds(
            "LR-52",
            "derived",
            CLASSES,
            "Rank C suffices: it costs at most .02.",
            lambda data: rank_cost(data, data.num_classes),
            at_most=0.02,
        ),
        refuted(
            "LR-53",
            "reading",
            f"{PAPER}, remark 1",
            "With more relevant patterns than classes rank R - 1 costs .02 or more in some task.",
            lambda data: rank_cost(data, data.num_relevant_patterns - 1).sel(case=MORE),
            where="somewhere",
            at_least=0.02,
        ),
        refuted(
            "LR-54",
            "derived",
            f"{PAPER}, remark 1",
            "Patterns that always occur together count on their own: R = 4 together gives W_Q and "
            "W_K rank 4, s_3 at least .15 of s_1.",
            lambda data: beyond(KEYS, 1)(data).sel(case="R=4 together"),
            at_least=0.15,
        ),
    ),
)
