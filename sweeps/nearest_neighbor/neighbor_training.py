"""How do the layer's loss and parameters go with t, d and N, and do the laws of near ties hold?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    interpretation,
    last,
    printed,
)
from jaxtheory.theories.nearest_neighbor import Config

from . import (
    LOG,
    PAPER,
    QUICK,
    ROWS,
    RUNS,
    THEORY,
    course,
    late_slope,
    settings,
    started,
    valley_share,
)


def converged(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values of the settings with 2 L(500) <= 0.21; those with NaN are kept."""
    return values.where(~(2 * data.loss.sel(step=500, drop=True) > 0.21), drop=True)


def learned(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values at the last step of the settings with 2 L <= 0.25; those with NaN are kept."""
    return last(values).where(~(2 * last(data.loss) > 0.25), drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Attention off the nearest, xi1 / xi2 and the loss in t for every setting, with their laws."""
    figure, ((attention, ratios, losses),) = plot.panels(3, width=4.2, height=3.6)
    late = started(data)
    for color, setting in enumerate(late.setting.values):
        runs = late.sel(setting=setting)
        law = runs.predicted_test_loss_law.isel(seed=0).where(late.step >= 50)
        course(attention, 1 - runs.nearest_attention, str(setting), color)
        course(ratios, runs.xi1 / runs.xi2, str(setting), color)
        course(losses, 2 * runs.test_loss, str(setting), color, 2 * law)
    t = late.step.where(late.step >= 50, drop=True).values
    plot.reference(attention, t, 0.9 * (t / t[0]) ** (-1 / 3), says="the power of t in the title")
    plot.reference(ratios, t, (t / t[0]) ** 0.1, says="the power of t in the title")
    attention_label, loss_label = "1 − attention on the nearest", "2 L, test prompts"
    plot.finish(attention, "step t", attention_label, "dotted: $t^{-1/3}$", legend=False, **LOG)
    plot.finish(ratios, "step t", r"$\xi_1 / \xi_2$", "dotted: $t^{0.1}$", legend=False, **LOG)
    plot.finish(losses, "step t", loss_label, "dashed: near ties", legend=False, **LOG)
    ratios.set_ylim(0.1, 3)
    plot.legend_below(figure, losses)
    return figure


FIGURE = Figure(
    name="neighbor_training",
    source=f"{PAPER}, theorem; settings ours",
    finding=Finding(
        "Where 2L(500) ≤ 0.21, attention off the nearest example falls near t^(−1/3) but ξ₁/ξ₂ need not grow as t^0.1",
        rests_on=("NN-8", "NN-9"),
    ),
    theory=THEORY,
    config=Config(),
    sweep=RUNS | {"zip": settings(ROWS)},
    quick=QUICK | {"zip": settings(ROWS[:1] + ROWS[3:4])},
    draw=draw,
    claims=(
        Claim(
            "NN-1",
            origin=interpretation(PAPER, "theorem"),
            statement="The loss “converges to zero”, read as a power of t: its exponent from t = 500 on is at most -0.2, in every setting.",
            measure=Measure(
                "exponent of the test loss in t ≥ 500, for each (d, N, σ, η)",
                lambda data: late_slope(data.test_loss),
            ),
            bound=at_most(-0.2),
            diverged="violates",
            why="It is the theorem's main statement, and near ties predict the exponent -1/3.",
        ),
        Claim(
            "NN-2",
            origin=printed(PAPER, "proposition on the form of W"),
            statement="“Along the optimization path of gradient descent” xi1, xi2 > 0: both are above 1e-6 at every recorded step from the first on, in every run.",
            measure=Measure(
                "lesser of ξ1 and ξ2, at each recorded t ≥ 1, for each (d, N, σ, η)",
                lambda data: np.minimum(data.xi1, data.xi2).isel(step=slice(1, None)),
            ),
            bound=at_least(1e-6),
            q=1,
            why="Positive xi1 makes attention grow with the nearness of an example, as the predictor needs.",
        ),
        Claim(
            "NN-3",
            origin=derived(),
            statement="xi1 grows as t^(1/3): its exponent from t = 500 on is near 1/3, where 2 L(500) <= 0.21 (settings already near the law).",
            measure=Measure(
                "exponent of ξ1 in t ≥ 500, each setting with 2 L(500) ≤ 0.21",
                lambda data: converged(data, late_slope(data.xi1)),
            ),  # 0.339, 0.359, 0.336
            bound=between(0.30, 0.40),
            why="The theorem gives no rate; this one says how many steps a sharper attention costs.",
        ),
        Claim(
            "NN-5",
            origin=derived(),
            statement="Near ties cause the loss: L xi1 / (C p(0)) is near 1 at t = 2000, where 2 L <= 0.25 (settings already near the law).",
            measure=Measure(
                "test loss times ξ1 over C p(0), t = 2000, each setting of 2 L ≤ 0.25",
                lambda data: learned(
                    data,
                    data.test_loss
                    * data.xi1
                    / (data.predicted_test_loss_law * data.predicted_xi1_law),
                ),
            ),  # 1.01 to 1.12
            bound=between(0.75, 1.4),
            law=1.0,
            why="Prompts with two almost equally near examples are almost all that keeps the loss from zero.",
        ),
        Claim(
            "NN-7",
            origin=derived(),
            statement="xi1 and xi2 over those of the valley, which has d + (xi2 / xi1)^2 in place of d, are near 1 at t = 2000, where 2 L <= 0.25 (settings already near the law).",
            measure=Measure(
                "ξ1 and ξ2 over the valley's, t = 2000, each setting of 2 L ≤ 0.25",
                lambda data: learned(data, valley_share(data)),
            ),  # 0.93 to 1.08
            bound=between(0.82, 1.3),
            why="It predicts both parameters from d, N, eta and t alone, with no constant left to fit.",
        ),
        Claim(
            "NN-8",
            origin=derived(),
            statement="Attention comes to select the nearest example as t^(-1/3): the exponent of 1 - mean s* from t = 500 on is near -1/3, where 2 L(500) <= 0.21 (settings already near the law).",
            measure=Measure(
                "exponent of 1 − mean s* in t ≥ 500, each setting of 2 L(500) ≤ 0.21",
                lambda data: converged(data, late_slope(1 - data.nearest_attention)),
            ),
            bound=between(-0.42, -0.26),  # key 100: -0.30, -0.34, -0.31
            why="The talk calls the layer a nearest neighbor selector; this is how fast it becomes one.",
        ),
        Claim(
            "NN-9",
            origin=interpretation("the talk: softmax is near a hardmax as xi1 >> xi2"),
            statement="xi1 >> xi2 -> infinity, read as: xi1 / xi2 grows as a power of t with an exponent of at least 0.1 from t = 500 on, where 2 L(500) <= 0.21 (settings already near the law).",
            measure=Measure(
                "exponent of ξ1 / ξ2 in t ≥ 500, each setting with 2 L(500) ≤ 0.21",
                lambda data: converged(data, late_slope(data.xi1 / data.xi2)),
            ),
            bound=at_least(0.1),  # key 100: -0.06 to 0.01
            expect="fails",
            why="The limit in the talk would keep the attention of many queries on themselves.",
        ),
        Claim(
            "NN-10",
            origin=interpretation(PAPER, "theorem"),
            statement="The layer “can be trained to perform in-context one-nearest neighbor prediction”, read as: for labels 1 and -1 the output has the sign of that prediction on 97 % of the prompts at t = 2000, where 2 L(500) <= 0.21 (settings already near the law).",
            measure=Measure(
                "share of prompts with the 1-NN sign, t = 2000, where 2 L(500) ≤ 0.21",
                lambda data: converged(data, last(data.agreement)),
            ),  # 0.986 to 0.995
            bound=at_least(0.97),
            why="A user asks for the right label, which needs much less than a loss of zero.",
        ),
    ),
)
