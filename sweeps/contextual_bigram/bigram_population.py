"""How close do large batches come to the noiseless dynamics, and how long is stage one there?"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot, statistics
from jaxtheory.claims import Finding, Measure, at_most, fitted_law, interpretation

from . import PAPER, SMALL, THEORY, B, Config, right_sign, runs
from ._curves import ALPHAS

LEVEL = 0.1  # of alpha_V, up to which the early form is compared


def deviation(data: xr.Dataset) -> xr.DataArray:
    """sup over steps and both alphas of |alpha - noiseless alpha|, in runs of the right sign."""
    gaps: list[Any] = [abs(data[n] - data[f"predicted_{n}_population"]).max("step") for n in ALPHAS]
    return np.maximum(*gaps).where(right_sign(data))


def early_error(data: xr.Dataset) -> xr.DataArray:
    """|alpha_V / early form - 1|, from step 24 on until LEVEL."""
    early = data.predicted_value_alignment_early
    return abs(data.value_alignment / early - 1).where(
        (early <= LEVEL) & (data.step >= 24), drop=True
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Both alphas for every batch size with the noiseless curves, and how far they are at most."""
    length = " (T = 300)" if data.sizes["seed"] >= 8 else ""
    figure, axes = plot.panels(
        3,
        title=f"The limit of large batches{length}",
        width=3.8,
        height=3.2,
    )
    shown = data.where(right_sign(data))
    for ax, (name, label) in zip(axes[0], ALPHAS.items(), strict=False):
        for color, size in zip(plot.shades(data.sizes[B]), data[B].values, strict=True):
            plot.series(
                ax, shown[name].sel({B: size}), "step", f"B = {size}", color=color, markers=False
            )
        plot.theory(
            ax,
            data.step.values,
            data[f"predicted_{name}_population"].isel({B: 0, "seed": 0}),
            "equation (8)",
        )
        early = data[f"predicted_{name}_early"].isel({B: 0, "seed": 0})
        plot.reference(ax, data.step.values, early, "early form")
        ax.set_ylim(0, 1.1 * max(1, float(shown[name].mean("seed").max())))
        plot.finish(ax, "step t", label, legend=False)
    gap = deviation(data)
    plot.series(axes[0, 2], gap, B, "measured")
    sizes, mean = data[B].values, statistics.average(gap).mean
    plot.theory(axes[0, 2], sizes, float(mean.isel({B: -1})) * sizes[-1] / sizes, "1 / B")
    plot.finish(
        axes[0, 2],
        "batch size B",
        r"$\sup_t\,|\alpha - \alpha_{\rm theory}|$",
        f"either α, {plot.law(axes[0, 2], fitted_law(gap, B))}",
        xscale="log",
        yscale="log",
    )
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="bigram_population",
    source=f"{PAPER}, equations (8) and (9)",
    finding=Finding(
        "At B = 4096 the alignment α_V stays within 20 % of d sinh(ηt) from step 24 until it reaches 0.1",
        rests_on=("CB-42",),
    ),
    theory=THEORY,
    config=Config(length=300, l1=0.0, learning_rate=0.05),
    sweep={
        "vary": {B: [64, 256, 1024, 4096]},
        "buckets": "exact",
        **runs(8, 240, every=6),
    },
    quick={
        "config": SMALL.replace(l1=0.0, switch_step=200),
        "vary": {B: [64]},
        "seeds": 2,
        "steps": 160,
        "record": [*range(0, 161, 10)],
    },
    draw=draw,
    claims=(
        Claim(
            "CB-42",
            origin=interpretation(PAPER, "equation (9)"),
            statement="“the mini-batch version of (8) is approximately equivalent to” (9), read as: at B = 4096, from step 24 until it reaches 0.1, alpha_V is d sinh(s) within 20 %.",
            measure=Measure(
                "|α_V / (d sinh s) − 1|, B = 4096, each t ≥ 24 with d sinh s ≤ 0.1",
                lambda d: early_error(d.sel({B: 4096})),
            ),
            bound=at_most(0.2),
            why="All estimates of stage one start from this linear system.",
        ),
    ),
)
