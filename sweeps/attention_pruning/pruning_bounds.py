"""How tight are theorem 4.1 and its lemmas on small sequences (n <= d), descending from a uniform
mask?
"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot
from jaxtheory.theories.attention_pruning import Config

from . import PAPER, THEORY, legend

TAUS = (1.0, 3.0, 10.0)
ETA, WEIGHT = 0.01, 1e-4  # eta = ETA / tau^2: L_g grows like tau^2


def smooth(dataset: xr.Dataset) -> xr.DataArray:
    """Whether eta <= 1 / L_g, where L_g = ||Hessian|| / ratio."""
    return dataset.step_scale / WEIGHT * dataset.hessian_norm <= dataset.bound_ratio.sel(
        bound="lipschitz", drop=True
    )


def guaranteed_steps(dataset: xr.Dataset) -> xr.DataArray:
    """T = 4 L(M_0) / (eta mu eps) for eps = L_attn as reached, at least: mu = 2 slope^2 and, at the
    final mask,

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
        title=f"Theorem 4.1 and its lemmas from a uniform M_0 ({dataset.sizes['seed']} seeds, n = "
        "8, d = 16)",
    )
    left, right = axes[0]
    for colour, tau in enumerate(dataset.logit_scale.values):
        chosen = dataset.sel(logit_scale=tau)
        later = chosen.sel(step=slice(1, None))
        plot.series(
            left, later.attention_loss, "step", f"tau = {tau:g}", colour=colour, markers=False
        )
        plot.theory(
            left,
            later.step.values,
            later.predicted_attention_loss_descent.mean("seed"),
            "",
            colour=colour,
        )
        ratios = np.log10(chosen.bound_ratio.where(chosen.bound_ratio > 0))
        places = np.arange(ratios.sizes["bound"]) + 0.2 * (colour - 1)
        for seed in range(ratios.sizes["seed"]):
            right.plot(
                places,
                10 ** ratios.isel(seed=seed),
                plot.MARKERS[colour],
                color=plot.COLOURS[colour],
                markersize=3,
                alpha=0.6,
            )
    plot.finish(
        left,
        "step t",
        "L_attn",
        "descent; dashed: L(M_0)",
        legend=False,
        xscale="log",
        yscale="log",
    )
    right.set_xticks(
        range(dataset.sizes["bound"]),
        [str(b).replace("_", "\n") for b in dataset.bound.values],
        fontsize=7,
    )
    right.axhline(1.0, linestyle="--", color="#333333", linewidth=1.2)
    plot.finish(
        right, "bound", "tightness of the bound", "after training, a mark per run", yscale="log"
    )
    legend(figure, left)
    return figure


FIGURE = Figure(
    name="pruning_bounds",
    source=f"{PAPER}, theorem 4.1 and appendices E-G",
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
        holds(
            "AP-35",
            "reading",
            f"{PAPER}, theorem 4.1",
            "With eta <= 1 / L_g no recorded loss lies above the one before.",
            lambda d: d.loss.diff("step").where(smooth(d)),
            statistic="each",
            at_most=1e-6,
            minimum=1,
        ),
        holds(
            "AP-36",
            "reading",
            f"{PAPER}, theorem 4.1",
            "With eta <= 1 / L_g the attention loss never exceeds L(M_0).",
            lambda d: (d.attention_loss / d.predicted_attention_loss_descent).where(smooth(d)),
            statistic="each",
            at_most=1.0,
            minimum=1,
        ),
        holds(
            "AP-37",
            "reading",
            f"{PAPER}, appendices E-G",
            "No bound is violated: every ratio is at most 1.",
            lambda d: d.bound_ratio,
            statistic="each",
            at_most=1.0,
            minimum=1,
        ),
        holds(
            "AP-38",
            "derived",
            "derived",
            "The number of steps that theorem 4.1 needs for the loss reached is over 10^4 times "
            "the number taken, in every run.",
            lambda d: np.log10(d.step[-1] / guaranteed_steps(d)),
            statistic="each",
            at_most=-4.0,
        ),
    ),
)
