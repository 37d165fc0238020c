"""How tight are theorem 4.1 and its lemmas on small sequences (n <= d)?

Descent starts from a uniform mask.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, derived, interpretation
from jaxtheory.theories.attention_pruning import Config

from . import PAPER, THEORY, with_legend

TAUS = (1.0, 3.0, 10.0)
ETA, WEIGHT = 0.01, 1e-4  # eta = ETA / tau^2: L_g grows like tau^2


def guaranteed_steps(dataset: xr.Dataset) -> xr.DataArray:
    """A lower bound on T = 4 L(M_0) / (eta mu eps) for eps = L_attn as reached.

    mu = 2 slope^2 and, at the final mask,

    slope ||c|| = ratio ||W o B|| <= ratio (||grad L|| + lambda ||M||),   ||c||^2 = 2 L_attn.
    """
    end = dataset.isel(step=-1)
    pull = end.gradient_norm + WEIGHT * end.mask_norm
    mu = (end.bound_ratio.sel(bound="chain", drop=True) * pull) ** 2 / end.attention_loss
    return 4 * dataset.loss.isel(step=0) * WEIGHT / (dataset.step_scale * mu * end.attention_loss)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """The attention loss along descent, and the tightness of each bound, one mark per run."""
    figure, axes = plot.panels(
        2,
        title="From a uniform M₀, L = 8, d = 16",
    )
    descent, tightness = axes[0]
    places = -np.arange(dataset.sizes["bound"])
    for color, tau in enumerate(dataset.logit_scale.values):
        chosen = dataset.sel(logit_scale=tau, step=slice(1, None))
        loss, bound = chosen.attention_loss, chosen.predicted_attention_loss_descent
        plot.series(descent, loss, "step", f"τ = {tau:g}", color=color, markers=False)
        plot.theory(descent, chosen.step, bound.mean("seed"), "", color=color, says="the bounds")
        ratios = chosen.bound_ratio.where(chosen.bound_ratio > 0).transpose("bound", "seed")
        tightness.plot(
            ratios,
            np.broadcast_to(places[:, None] + 0.2 * (1 - color), ratios.shape),
            plot.MARKERS[color],
            color=plot.COLORS[color],
            markersize=3,
            alpha=0.6,
        )
    plot.finish(
        descent,
        "step t",
        "$L_{attn}$",
        "descent",
        legend=False,
        xscale="log",
        yscale="log",
    )
    plot.ticks(tightness.yaxis, places, [str(b).replace("_", " ") for b in dataset.bound.values])
    ends = np.array([places[-1] - 0.5, 0.5])
    plot.theory(tightness, np.ones(2), ends, "", says="the bounds")
    plot.finish(tightness, "measured / bound", "", "after training, a mark per run", xscale="log")
    return with_legend(figure, descent)


FIGURE = Figure(
    name="pruning_bounds",
    source=f"{PAPER}, theorem 4.1 and appendices E-G",
    finding=Finding(
        "The theorem's bounds, with our constants, hold in each run (L = 8), but ask for over 10⁶ times the steps taken",
        rests_on=("AP-37", "AP-38"),
    ),
    theory=THEORY,
    config=Config(dimension=16, length=8, mask_init="uniform", momentum=0.0, regularization=WEIGHT),
    sweep={
        "zip": {"logit_scale": TAUS, "step_scale": tuple(WEIGHT * ETA / tau**2 for tau in TAUS)},
        "seeds": 16,
        "steps": 3000,
        "record": [0, 1, 3, 10, 30, 100, 300, 1000, 3000],
        "dtype": "float32",
    },
    quick={},
    draw=draw,
    claims=(
        Claim(
            "AP-37",
            origin=interpretation(PAPER, "appendices E-G"),
            statement="The source's inequalities, whose constants are lost and read as ours, hold in each run: no ratio of the two sides is above 1.",
            why="The convergence theorem rests on each of them.",
            measure=Measure(
                "lower over upper side of each inequality of the proof, each τ",
                lambda d: d.bound_ratio,
            ),
            bound=at_most(1 + 1e-6),  # float32
            q=1,
        ),
        Claim(
            "AP-38",
            origin=derived(),
            statement="The number of steps that theorem 4.1 needs for the loss that was reached is over 10^6 times the number of steps taken, in every run.",
            why="A guarantee that asks for so many steps does not explain the descent that is seen.",
            measure=Measure(
                "log₁₀ of steps taken over those theorem 4.1 needs at least, each τ",
                lambda d: np.log10(d.step[-1] / guaranteed_steps(d)),
            ),
            bound=at_most(-6.0),
            q=1,
        ),
    ),
)
