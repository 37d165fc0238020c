"""Do proximal steps learn the sparse attention that SGD misses, before and after rounding?

Long, because the comparison has sixteen claims.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived, interpretation, printed, share

from . import (
    BOTH,
    PAPER,
    PROX,
    QUICK,
    SGD,
    STAGES,
    THEORY,
    Config,
    end,
    failed,
    ratio,
    rebound,
    right,
)
from ._curves import ALPHAS, CURVES, at, draw_one, draw_rounding, draw_runs, tasks

SLOW = "SGD, η = 0.001"
COSINE, EXCESS, OFF = (
    end("attention_cosine", PROX),
    ratio("excess_loss", PROX, SGD),
    ratio("attention_residual", SGD, PROX),
)
PLAIN = ("attention_distance", "value_distance", "attention_cosine", "value_cosine_centered")
ROUNDED = ("rounded_attention_distance", "rounded_value_distance")
KEPT, SUPPORT = end("relative_excess_loss", SLOW), end("support_recovery", PROX)


def distortion(run: str, way: int) -> Any:
    """The lesser of 1 - alpha_A and alpha_V - 1 at the end, both times way."""
    attention, value = end("attention_alignment", run), end("value_alignment", run)
    return lambda data: np.minimum(way * (1 - attention(data)), way * (value(data) - 1))


def better(*names: str) -> Any:
    """1 if the proximal run ends with less of each distance, or more of each cosine, than SGD
    on the same task.
    """

    def one(data: xr.Dataset, name: str) -> xr.DataArray:
        gap = end(name, SGD)(data) - end(name, PROX)(data)
        gap = -gap if "cosine" in name else gap
        return share(gap > 0, among=gap.notnull()).drop_vars("step", errors="ignore")

    return lambda data: xr.concat([one(data, name) for name in names], "metric")


def draw_alphas(ax: Any, data: xr.Dataset, run: str, kind: str, title: str) -> None:
    """Both alphas of one kind of run with their noiseless curves."""
    chosen = data.sel(run=run)
    for color, (name, label) in enumerate(ALPHAS.items()):
        plot.series(
            ax, chosen[name].dropna("seed", how="all"), "step", label, color=color, markers=False
        )
        plot.theory(
            ax,
            data.step.values,
            chosen[f"predicted_{name}_{kind}"].mean("seed"),
            "no noise" if color else "",
            color=color,
        )
    draw_one(ax)
    plot.finish(ax, "step t", "alignment (1 at the task)", title)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Four curves in t, the alphas against their noiseless curves, and what rounding makes of the
    end: a line per run.
    """
    shown = data.where(right(data))
    figure, axes = plot.panels(
        4, 2, title=f"Proximal steps against SGD{at(FIGURE, data)}, {tasks(data)}", width=3.2
    )
    draw_runs(axes[0], shown, CURVES, counted=False)
    axes[0, 3].set_ylim(1e-2, None)
    draw_alphas(axes[1, 0], shown, PROX, "prox", "proximal: noise cut at 0 lowers $α_A$")
    draw_alphas(axes[1, 1], shown, SGD, "population", "SGD: noise lowers $α_V$")
    draw_rounding(axes[1, 2], shown, "attention", r"$\|A - Q\|_\mu$")
    draw_rounding(axes[1, 3], shown, "value", r"$\|V - P\|_\mu$", "rounded, best V (oracle)")
    plot.legend_below(figure, axes[0, 0])
    plot.remark(figure, "Last row: a line per run.")
    return figure


FIGURE = Figure(
    name="bigram_proximal",
    source=f"{PAPER}, figure 1",
    theory=THEORY,
    config=Config(),
    sweep={
        "zip": {
            "run": [PROX, SGD, SLOW],
            "l1": [1e-5, 0.0, 0.0],
            "learning_rate": [0.02, 0.02, 0.001],
            "late_learning_rate": [0.01, 0.01, 0.001],
        },
        **STAGES,
    },
    quick=QUICK | {"zip": BOTH},
    draw=draw,
    # key 100, 6 tasks of 8: cosine 0.983 to 0.992, SGD 0.93 to 0.95; excess 0.22 to 0.37 of SGD's;
    # |Delta_A| of SGD 4.4 to 6.1 times as large; alphas (0.64 to 0.75, 1.21 to 1.34), SGD (1.56 to
    # 1.70, 0.50 to 0.60). A seventh, z = 1.5: 0.916, 0.71 and 5.2; the last, z = 0.7: wrong sign
    claims=(
        Claim(
            "CB-1",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“quickly converges close to 1”, read as: each proximal run ends with a cosine of A and Q of at least 0.93.",
            measure=COSINE,
            bound=at_least(0.93),
            statistic="each",
        ),
        Claim(
            "CB-2",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“quickly converges close to 1”, read as: the median cosine of A and Q of proximal runs is at least 0.96.",
            measure=COSINE,
            bound=at_least(0.96),
            statistic="median",
        ),
        Claim(
            "CB-3",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“decrease faster than SGD”, read as: the excess loss of each proximal run ends at 0.7 or less of that of SGD on the same task.",
            measure=EXCESS,
            bound=at_most(0.7),
            statistic="each",
        ),
        Claim(
            "CB-4",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“decrease faster than SGD”, read as: the median ratio of the final excess losses is at most 0.55.",
            measure=EXCESS,
            bound=at_most(0.55),
            statistic="median",
        ),
        Claim(
            "CB-5",
            origin=interpretation(PAPER, "section 3.3"),
            statement="“the proximal gradient updates stay close to the population trajectory”, read as: each run of SGD ends at least 3.5 times as far off the line of alpha_A, in |Delta_A|, as the proximal run.",
            measure=OFF,
            bound=at_least(3.5),
            statistic="each",
        ),
        Claim(
            "CB-6",
            origin=interpretation(PAPER, "section 3.3"),
            statement="“the proximal gradient updates stay close to the population trajectory”, read as: the median ratio of the final |Delta_A| is at least 4.5.",
            measure=OFF,
            bound=at_least(4.5),
            statistic="median",
        ),
        Claim(
            "CB-7",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“the convergence rate is too slow when a smaller learning rate is used”, read as: each run of SGD at eta = 0.001 keeps more than 0.95 of the initial excess loss.",
            measure=KEPT,
            bound=at_least(0.95),
            statistic="each",
        ),
        Claim(
            "CB-8",
            origin=interpretation(PAPER, "appendices E.1 and F"),
            statement="“the rounding step can recover the support of” Q, read as: rounding the end of a proximal run does, in every column.",
            measure=SUPPORT,
            bound=at_least(1.0),
            statistic="each",
        ),
        Claim(
            "CB-9",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“The final distance to the ground-truth after normalization gets close to 0”, read as: the rounded A is within 0.09 of Q, in each run.",
            measure=end("rounded_attention_distance", PROX),
            bound=at_most(0.09),
            statistic="each",
        ),
        Claim(
            "CB-10",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“The final distance to the ground-truth after normalization gets close to 0”, read as: the best V for the rounded A is within 0.03 of P, in each run.",
            measure=end("rounded_value_distance", PROX),
            bound=at_most(0.03),
            statistic="each",
        ),
        Claim(
            "CB-11",
            origin=interpretation(PAPER, "appendix I"),
            statement="“the regularization will eventually distort the learned pattern”, read as: each proximal run ends with alpha_A < 1 < alpha_V, each by 0.05 or more.",
            measure=distortion(PROX, 1),
            bound=at_least(0.05),
            statistic="each",
        ),
        Claim(
            "CB-12",
            origin=derived("derived: -|Delta_A|^2 alpha_V in the dynamics"),
            statement="Noise distorts SGD in the opposite direction: each run ends with alpha_V < 1 < alpha_A, by 0.05 or more.",
            measure=distortion(SGD, -1),
            bound=at_least(0.05),
            statistic="each",
        ),
        Claim(
            "CB-13",
            origin=interpretation(PAPER, "appendix I"),
            statement="“the loss also increases a little after it converges”, read as: the excess loss of each proximal run ends at 1.1 times its least value or more.",
            measure=rebound(PROX),
            bound=at_least(1.1),
            statistic="each",
        ),
        Claim(
            "CB-14",
            origin=derived("derived, against the failure of SGD in figure 1"),
            statement="Rounding SGD does not fail: the support of some column is wrong in at most a quarter of the runs.",
            measure=failed(SGD),
            bound=at_most(0.25),
            statistic="share",
        ),
        Claim(
            "CB-15",
            origin=printed(PAPER, "appendix I"),
            statement="“in all metrics proximal gradient descent performs better than the vanilla gradient descent with a small batch size”, after normalization: A and V* are nearer to the task on half of the tasks or more.",
            measure=better(*ROUNDED),
            bound=at_least(0.5),
            statistic="share",
            expect="fails",
        ),
        Claim(
            "CB-16",
            origin=derived("derived from appendix I"),
            statement="Before normalization proximal gradient descent does perform better: each of the four distances and cosines of A and V is better on at least 80 % of the tasks.",
            measure=better(*PLAIN),
            bound=at_least(0.8),
            statistic="share",
        ),
    ),
)
