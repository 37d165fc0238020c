"""How large is the error on prompts whose examples near the query were flipped, and does a bound
say so?
"""

import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.nearest_neighbor import Config

from . import (
    EACH,
    LOG,
    PAPER,
    QUICK,
    ROWS,
    RUNS,
    SHIFT,
    THEORY,
    course,
    derived,
    last,
    settings,
    started,
)

DELTA = "separation"
THREE = [ROWS[0], ROWS[2], ROWS[3]]
LARGEST = xr.DataArray([0.035, 0.001, 0.016], dims="setting")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Error in t for every delta with its bound, a panel per setting; the largest error over both
    bounds.
    """
    figure, axes = plot.panels(
        data.sizes["setting"] + 1,
        title="Tests under shift by δ: flipped examples are min(δ, 4 − δ) away",
        width=4.1,
        height=3.4,
    )
    late = started(data)
    for ax, setting in zip(axes[0], data.setting.values, strict=False):
        for i, delta in enumerate(data[DELTA].values):
            runs = late.sel({"setting": setting, DELTA: delta})
            bound = runs.shift_bound.mean("seed")
            course(ax, runs.shift_error, f"δ = {delta:g}", i, bound, "" if i else "bound")
        error = r"mean $(f - y_{i^*})^2$, $q = x_{i^*}$"
        plot.finish(ax, "step t", error, str(setting), legend=ax is axes[0, 0], **LOG)
        ax.set_ylim(1e-7, 3)
    ax = axes[0, -1]
    for i, setting in enumerate(data.setting.values):
        for name, line, label in (("early_bound_ratio", "--", ""), ("bound_ratio", "-", setting)):
            worst = data[name].sel(setting=setting).max(["step", "seed"])
            ax.plot(data[DELTA].values, worst, line, color=plot.COLOURS[i], label=label)
    ax.axhline(1, color="#333333", linewidth=0.8)
    ratio, title = r"largest $|f - y_{i^*}|$ / bound", "solid: bound; dashed: at t* = 1"
    plot.finish(ax, "separation δ", ratio, title, yscale="log")
    ax.set_ylim(1e-2, 1e15)
    return figure


FIGURE = Figure(
    name="neighbor_shift",
    source=f"{PAPER}, theorem on distribution shift and appendix B",
    theory=THEORY,
    config=Config(),
    sweep=RUNS | {"zip": settings(THREE), "vary": {DELTA: [0.05, 0.1, 0.3, 1.0, 2.0, 3.5]}},
    quick=QUICK | {"zip": settings(THREE[:2]), "vary": {DELTA: [0.1, 2.0]}},
    draw=draw,
    claims=(
        derived(
            "NN-19",
            "|f - y| stays below 2 R N exp(-xi1 delta / 2) + R exp(-(xi2 - xi1 (1 - t*))) on "
            "every prompt (to rounding, 1e-5).",
            lambda data: data.bound_ratio,
            at_most=1 + 1e-5,
            **EACH,
        ),
        refuted(
            "NN-20",
            "derived",
            f"{SHIFT}, reconstructed",
            "It stays below R (2 N exp(-xi1 delta / 2) + exp(-xi2)) for any query.",
            lambda data: data.early_bound_ratio,  # up to 1e10
            statistic="each",
            at_most=1.0,
        ),
        derived(
            "NN-21",
            "Where q = x_{i*} the mean squared error is below 2 ((N - 1) exp(-xi1 delta / 2) + "
            "exp(-xi2))^2, or 2.",
            lambda data: data.shift_error / data.shift_bound,
            at_most=1.0,
            **EACH,
        ),
        holds(
            "NN-22",
            "reading",
            f"{PAPER}, appendix B",
            "At every delta the error under shift falls from each recorded step to the next.",
            lambda data: data.shift_error.mean("seed").diff("step"),
            at_most=0.0,
        ),
        holds(
            "NN-23",
            "reading",
            f"{PAPER}, appendix B: delta = .1",
            "At delta = .1, t = 2000 it is at most .035 (d = N = 4), .001 (d = 8, N = 16), .016 "
            "(d = 3, N = 8): largest ratio.",
            lambda data: last(data.shift_error.sel({DELTA: 0.1})).mean("seed") / LARGEST,
            at_most=1.0,
        ),
        refuted(
            "NN-24",
            "derived",
            SHIFT,
            "The bound tells something at delta = .1 by t = 2000: it is below 1.",
            lambda data: last(data.shift_bound.sel({DELTA: 0.1})),
            at_most=1.0,
        ),
        derived(
            "NN-25",
            "At delta = 1, t = 2000 it is below .02.",
            lambda data: last(data.shift_bound.sel({DELTA: 1.0})),
            source=SHIFT,
            at_most=0.02,
        ),
    ),
)
