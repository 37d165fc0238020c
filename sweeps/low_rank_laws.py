"""arXiv 2406.17167 beyond two patterns: the rank law, coherent patterns, strong noise, few dimensions."""

from pathlib import Path
from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot, verdicts
from jaxtheory.theories.low_rank import Config, analyses

MAIN = jaxtheory.theories.load(Path(__file__).with_name("low_rank.py"))
THEORY, PAPER, claim, last = MAIN.THEORY, MAIN.PAPER, MAIN.claim, MAIN.last
TRUNCATED = THEORY._replace(analyses=analyses.ranks.truncation)


# The rank law: R relevant patterns, C classes, independent or together

TASKS: dict[str, Any] = {
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


def law(data: xr.Dataset, matrices: list[str]) -> xr.DataArray:
    """The ranks that the law gives."""
    return data.predicted_gap_rank_law.isel(step=0, seed=0, drop=True).sel(matrix=matrices)


def relative(data: xr.Dataset, matrices: list[str], beyond: int) -> xr.DataArray:
    """s_(r + beyond) / s_1 at the rank r of the law."""
    s = last(data.singular_values).sel(matrix=matrices)
    return s.sel(index=law(data, matrices).astype(int) + beyond).drop_vars("index") / s.sel(index=1, drop=True)


def cost(data: xr.Dataset, rank: xr.DataArray) -> xr.DataArray:
    """What truncation to a rank costs, one for each task."""
    return data.truncated_loss.sel(rank=rank).drop_vars("rank") - data.truncated_loss.isel(rank=-1, drop=True)


def share_of_first(data: xr.Dataset, rank: xr.DataArray) -> xr.DataArray:
    """s_r / s_1 of W_V and W_O."""
    s = last(data.singular_values).sel(matrix=["WV", "WO"])
    return s.sel(index=rank).drop_vars("index") / s.sel(index=1, drop=True)


def draw_ranks(data: xr.Dataset) -> plot.Drawing:
    """Singular values over the largest and the loss by rank with one a for all positions; ranks of all tasks, P: one a per position."""
    cases = [str(c) for c in data.case.values if not str(c).endswith("P")]
    figure, axes = plot.panels(
        4, 2, title=f"R relevant patterns, K outputs: singular values and truncation, {data.sizes['seed']} seeds", width=3.3
    )
    s = last(data.singular_values) / last(data.singular_values).sel(index=1)
    for ax, matrix in zip(axes[0], data.matrix.values, strict=True):
        for colour, case in enumerate(cases):
            plot.series(ax, s.sel(case=case, matrix=matrix).isel(index=slice(0, 8)), "index", case, colour=colour)
        ax.set_ylim(1e-4, 1.5)
        plot.finish(ax, "index", f"singular value / largest, {matrix}", yscale="log", legend=False)
    for colour, case in enumerate(cases):
        values = data.truncated_loss.sel(case=case).isel(rank=slice(0, 8))
        plot.series(axes[1, 0], values, "rank", case, colour=colour)
    plot.finish(axes[1, 0], "all changes cut to rank r", "test hinge loss", legend=False)
    axes[1, 3].legend(*axes[1, 0].get_legend_handles_labels(), frameon=False, loc="center")
    axes[1, 3].set_axis_off()
    for ax, values, label in (
        (axes[1, 1], last(data.gap_rank), "largest-gap rank"),
        (axes[1, 2], data.predicted_gap_rank_law.isel(step=0), "rank of the law"),
    ):
        plot.heat(ax, values.mean("seed"), "matrix", "case", label=label, digits=1)
        plot.finish(ax, "", "", legend=False)
    return figure


RANK_LAW = Figure(
    "rank_law",
    f"{PAPER}, remark 1, beyond R = 2",
    TRUNCATED,
    Config(num_test=100),
    {"zip": TASKS, "seeds": 8, "steps": 180, "record": [0, 180], "dtype": "float32"},
    {"zip": {name: values[:3] for name, values in TASKS.items()}, "seeds": 2, "steps": 120, "record": [0, 120]},
    (
        claim(
            48,
            "corrected: independently occurring patterns",
            "W_Q, W_K: s_R is at least .15 of s_1, R the number of relevant patterns that occur independently.",
            "holds",
            lambda d: verdicts.at_least(relative(d, ["WQ", "WK"], 0), 0.15),
        ),
        claim(
            49,
            "corrected: independently occurring patterns",
            "W_Q, W_K: the next one is at most .05 of s_1.",
            "holds",
            lambda d: verdicts.at_most(relative(d, ["WQ", "WK"], 1), 0.05),
        ),
        claim(
            50,
            "corrected: classes",
            "W_V, W_O: s_C is at least .35 of s_1, the next at most .25, C the number of classes.",
            "holds",
            lambda d: verdicts.at_most(xr.concat([0.35 - relative(d, ["WV", "WO"], 0), relative(d, ["WV", "WO"], 1) - 0.25], "which"), 0.0),
        ),
        claim(
            51,
            f"{PAPER}, remark 1",
            "With more relevant patterns than classes W_V or W_O has the rank of the patterns in some task: s_R is at least .15 of s_1.",
            "refuted",
            lambda d: MAIN.some_at_least(share_of_first(d, d.num_relevant_patterns).sel(case=MORE), 0.15),
        ),
        claim(
            52,
            "corrected: classes",
            "Rank C suffices: it costs at most .02.",
            "holds",
            lambda d: verdicts.at_most(cost(d, d.num_classes), 0.02),
        ),
        claim(
            53,
            f"{PAPER}, remark 1",
            "With more relevant patterns than classes rank R - 1 costs .02 or more in some task.",
            "refuted",
            lambda d: MAIN.some_at_least(cost(d, d.num_relevant_patterns - 1).sel(case=MORE), 0.02),
        ),
        claim(
            54,
            f"{PAPER}, remark 1",
            "Patterns that always occur together count on their own: R = 4 together gives W_Q and W_K rank 4, s_3 at least .15 of s_1.",
            "refuted",
            lambda d: verdicts.at_least(relative(d, ["WQ", "WK"], 1).sel(case="R=4 together"), 0.15),
        ),
    ),
    draw_ranks,
)

# Failure signatures


def drop_two(data: xr.Dataset) -> xr.DataArray:
    """What truncation to rank 2 costs."""
    return data.truncated_loss.sel(rank=2) - data.truncated_loss.isel(rank=-1)


def key_gap(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_3 of the change of W_K."""
    s = last(data.singular_values).sel(matrix="WK")
    return s.sel(index=2, drop=True) / s.sel(index=3, drop=True)


def second_of_keys(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_1 of the change of W_K."""
    s = last(data.singular_values).sel(matrix="WK")
    return s.sel(index=2, drop=True) / s.sel(index=1, drop=True)


def alone(data: xr.Dataset) -> xr.DataArray:
    """The larger loss of cosine .9 without noise and of sigma = .4 with orthogonal patterns."""
    loss = last(data.loss)
    pair = [loss.sel(coherence=0.9, noise=0.0, drop=True), loss.sel(coherence=0.0, noise=0.4, drop=True)]
    return xr.concat(pair, "which").max("which")


def draw_failures(data: xr.Dataset) -> plot.Drawing:
    """Phase diagrams over coherence and noise."""
    figure, axes = plot.panels(4, title=f"Coherent patterns and noise (S1), {data.sizes['seed']} seeds", width=3.4)
    s = last(data.singular_values).sel(matrix="WV")
    for ax, values, label, digits in (
        (axes[0, 0], last(data.loss), "test hinge loss", 2),
        (axes[0, 1], data.truncated_loss.sel(rank=1) - data.truncated_loss.isel(rank=-1), "cost of rank 1", 2),
        (axes[0, 2], xr.ufuncs.log10(key_gap(data)), r"$\log_{10}\, s_2 / s_3$ of $\Delta W_K$", 1),
        (axes[0, 3], s.sel(index=2) / s.sel(index=1), r"$s_2 / s_1$ of $\Delta W_V$", 2),
    ):
        plot.heat(ax, values.mean("seed"), "coherence", "noise", label=label, digits=digits)
        plot.finish(ax, "cosine of $\\mu_1$ and $\\mu_2$", "noise σ", legend=False)
    return figure


FAILURES = Figure(
    "rank_failures",
    "summary of arXiv 2406.17167, failure signatures",
    TRUNCATED,
    Config(num_test=100),
    {
        "vary": {"coherence": [0.0, 0.3, 0.6, 0.9], "noise": [0.0, 0.1, 0.2, 0.4]},
        "seeds": 8,
        "steps": 120,
        "record": [0, 120],
        "dtype": "float32",
    },
    {"vary": {"coherence": [0.0, 0.9], "noise": [0.1]}, "seeds": 2},
    (
        claim(
            62,
            "summary, failure signatures",
            "Coherence breaks learning: at cosine .9 and sigma = .1 the loss after 120 steps is at least .3.",
            "refuted",
            lambda d: verdicts.at_least(last(d.loss).sel(coherence=0.9, noise=0.1), 0.3),
        ),
        claim(
            63,
            "summary, failure signatures",
            "Rank 2 still suffices everywhere: it costs at most .02.",
            "holds",
            lambda d: verdicts.at_most(drop_two(d), 0.02),
        ),
        claim(
            86,
            "summary, failure signatures",
            "Both together do: at cosine .9 and sigma = .4 it is larger by .3 or more than with one of them alone.",
            "holds",
            lambda d: verdicts.at_least(last(d.loss).sel(coherence=0.9, noise=0.4) - alone(d), 0.3),
        ),
        claim(
            87,
            "summary, failure signatures",
            "Coherence takes the second direction from W_K: at sigma = .1 and cosine .9 s_2 / s_1 is at most a tenth of that at 0.",
            "holds",
            lambda d: verdicts.at_most((second_of_keys(d).sel(coherence=0.9) / second_of_keys(d).sel(coherence=0.0)).sel(noise=0.1), 0.1),
        ),
        claim(
            64,
            "summary, failure signatures",
            "Noise closes the gap of W_K: with orthogonal patterns s_2 / s_3 at sigma = .4 is at most a tenth of that at .1.",
            "holds",
            lambda d: verdicts.at_most((key_gap(d).sel(noise=0.4) / key_gap(d).sel(noise=0.1)).sel(coherence=0.0), 0.1),
        ),
    ),
    draw_failures,
)

SHAPES: dict[str, Any] = {
    "shape": ["20, 20", "m_b=1", "m_b=2", "m_b=4", "m_a=1", "m_a=2", "m_a=4"],
    "query_dim": [20, 1, 2, 4, 20, 20, 20],
    "value_dim": [20, 20, 20, 20, 1, 2, 4],
}


def draw_capacity(data: xr.Dataset) -> plot.Drawing:
    """Loss and error over the width of queries and values, against the number of relevant patterns."""
    figure, axes = plot.panels(2, title=f"Query and value dimensions against R relevant patterns, {data.sizes['seed']} seeds", width=4.2)
    for ax, name, label, most in ((axes[0, 0], "loss", "test hinge loss", 0.2), (axes[0, 1], "error", "test error", 0.1)):
        plot.heat(ax, last(data[name]).mean("seed"), "shape", "num_relevant_patterns", label=label, digits=3, span=(0, most))
        plot.finish(ax, "", "relevant patterns R", legend=False)
        ax.tick_params(axis="x", rotation=45)
    return figure


CAPACITY = Figure(
    "rank_capacity",
    "summary of arXiv 2406.17167, failure signatures",
    MAIN.only(),
    Config(),
    {
        "zip": SHAPES,
        "vary": {"num_relevant_patterns": [2, 4, 6]},
        "seeds": 8,
        "steps": 160,
        "record": {"loss": [0, 160], "error": [0, 160]},
        "dtype": "float32",
    },
    {"zip": {name: values[:2] for name, values in SHAPES.items()}, "vary": {"num_relevant_patterns": [2]}, "seeds": 2},
    (
        claim(
            65,
            "summary, failure signatures",
            "Fewer query dimensions than relevant patterns break learning: for some m_b < R the error is at least .1.",
            "refuted",
            lambda d: MAIN.some_at_least(last(d.error).where(d.query_dim < d.num_relevant_patterns, 0).where(d.value_dim > 4, 0), 0.1),
        ),
        claim(
            66,
            "summary, failure signatures",
            "Fewer value dimensions than classes do: at m_a = 1 the loss is at least .2 for every R.",
            "refuted",
            lambda d: verdicts.at_least(last(d.loss).sel(shape="m_a=1"), 0.2),
        ),
        claim(
            67,
            "measured: the number of classes is enough",
            "Every shape with two value dimensions or more learns: the test error is at most .02, for every R.",
            "holds",
            lambda d: verdicts.at_most(last(d.error).where(d.value_dim > 1, drop=True), 0.02),
        ),
    ),
    draw_capacity,
)

FIGURES: Any = (RANK_LAW, FAILURES, CAPACITY)
