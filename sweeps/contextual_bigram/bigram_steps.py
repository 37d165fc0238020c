"""How many steps does stage two take, and what do they depend on?

With simulated noise, from alpha_V = 0.1 on: asinh(0.1 T K_Q) / eta1 steps of stage one, by its
closed form. At B = 2^24 a step's noise per entry is a sixth of lambda.
"""

from itertools import product

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    between,
    exponent,
    interpretation,
    last,
)

from . import PAPER, QUICK, THEORY, Config, T, right_sign, runs
from ._curves import CURVES, power

ETA2, TAU = "late_learning_rate", "switch_step"
RATES, LENGTHS, ETA1 = [0.025, 0.05], [64, 104, 176, 304, 512], 0.05
SWITCH = [round(np.arcsinh(0.1 * (t / 2 - 1)) / ETA1) for t in LENGTHS]  # K_Q = 1/2 - 1/T
MANY = 2**24


def steps(data: xr.Dataset, share: float) -> xr.DataArray:
    """Steps from the switch until at most this share of the first excess loss is left.

    It is NaN where that is never.
    """
    low = data.relative_excess_loss <= share
    first = data.step.isel(step=low.argmax("step")).drop_vars("step") - data[TAU]
    return first.where(low.any("step") & right_sign(data))


def stuck(data: xr.Dataset) -> xr.DataArray:
    """|1 - alpha_V| over |1 - alpha_A alpha_V| at the end, at the larger rate."""
    one = last(data).where(right_sign(data)).sel({ETA2: RATES[-1]}, drop=True)
    value, product = one.value_alignment, one.attention_alignment * one.value_alignment
    return abs(1 - value) / abs(1 - product)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Excess loss in t since the switch; steps to a hundredth of it against T."""
    figure, axes = plot.panels(2, width=4.6, height=3.2)
    rates = data[ETA2].values
    for k, color in enumerate(plot.shades(data.sizes[T])):
        one = data.isel({T: k, ETA2: -1})
        since = one.assign_coords(step=one.step - int(one[TAU])).relative_excess_loss
        label = f"T = {int(one[T])}"
        plot.series(
            axes[0, 0], since.sel(step=slice(0, 220)), "step", label, color=color, markers=False
        )
    plot.finish(
        axes[0, 0],
        f"steps since the switch, η2 = {rates[-1]:g}",
        CURVES["relative_excess_loss"],
        yscale="log",
    )
    for color, (level, eta) in enumerate(product((0.1, 0.01), rates)):
        values = steps(data, level).sel({ETA2: eta})
        plot.series(axes[0, 1], values, T, f"to {level:g}, η2 = {eta:g}", color=color)
    plot.finish(axes[0, 1], "length T", "steps of stage two", f"B = {power(MANY)}", xscale="log")
    axes[0, 1].set_ylim(0, None)
    plot.ticks(axes[0, 1].xaxis, data[T].values)
    return figure


FIGURE = Figure(
    name="bigram_steps",
    source=f"{PAPER}, sections 3.3 and 3.4 and lemma E.10",
    finding=Finding(
        "Stage two's steps to 1/100 excess loss hardly vary with T, and 1/1000 takes about log 10/(4η₂) more (B = 2²⁴)",
        rests_on=("CB-74", "CB-76"),
    ),
    theory=THEORY,
    config=Config(batch_size=MANY, l1=1e-4, learning_rate=ETA1),
    sweep={
        "algorithm": "noise",
        "zip": {T: LENGTHS, TAU: SWITCH},
        "vary": {ETA2: RATES},
        **runs(12, 300, every=1),
    },
    quick=QUICK | {"zip": {T: [128], TAU: [100]}, "vary": {ETA2: RATES}, "buckets": "exact"},
    draw=draw,
    claims=(
        Claim(
            "CB-74",
            origin=interpretation(PAPER, "section 3.3"),
            statement="Stage two: “Similar to Stage 1, this also only takes” few steps, read as: the number of steps to a hundredth of the excess loss changes with T with an exponent of -0.1 to 0.1 (B = 2^24, both rates).",
            measure=Measure(
                "exponent in T of stage-two steps to 1/100 of the excess loss, each η2",
                lambda d: exponent(steps(d, 0.01), T),
            ),
            bound=between(-0.1, 0.1),
            why="The cost of long contexts is in stage one alone, if stage two does not grow with them.",
        ),
        Claim(
            "CB-76",
            origin=interpretation(PAPER, "section 3.4"),
            statement="“at a linear rate (and the approximation error also decreases exponentially fast)”, read as: the excess loss takes 0.85 to 1.15 times log 10 / (4 eta2) steps from 1/100 to 1/1000 (B = 2^24).",
            measure=Measure(
                "steps, excess loss 1/100 to 1/1000, over log 10 / (4 η2), each T, η2",
                lambda d: (steps(d, 1e-3) - steps(d, 1e-2)) * 4 * d[ETA2] / np.log(10),
            ),
            bound=between(0.85, 1.15),
            why="A rate with its constant predicts when stage two may be ended.",
        ),
        Claim(
            "CB-86",
            origin=interpretation(PAPER, "section 3.4"),
            statement="“the convergence rate of” alpha_A - alpha_V “is much slower, and the process will get stuck around” (1 + delta, 1 - delta) “for some small nonzero” delta, “instead of converging to” (1, 1), read as: after 300 steps alpha_V is at least 3 times as far from 1 as alpha_A alpha_V, in each run (eta2 = 0.05).",
            measure=Measure(
                "|1 − α_V| over |1 − α_A α_V| at the end, η2 = 0.05, each of five T", stuck
            ),
            bound=at_least(3.0),
            q=1,
            why="It is the whole reason for the third stage, which rounds A and trains V alone.",
        ),
    ),
)
