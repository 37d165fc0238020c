"""How many steps does stage two take, and what do they depend on?

With simulated noise, from alpha_V = 0.1 on: asinh(0.1 T K_Q) / eta1 steps of stage one, by its
closed form. A step's noise per entry is above lambda at B = 1024, and a sixth of it at B = 2^24.
"""

from itertools import product

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, between, derived, exponent, interpretation

from . import PAPER, QUICK, THEORY, B, Config, Measure, T, right_sign, runs
from ._curves import CURVES, power

ETA2, TAU = "late_learning_rate", "switch_step"
RATES, LENGTHS, ETA1 = [0.025, 0.05], [64, 512], 0.05
SWITCH = [round(np.arcsinh(0.1 * (t / 2 - 1)) / ETA1) for t in LENGTHS]  # K_Q = 1/2 - 1/T
FEW, MANY = 2**10, 2**24


def steps(data: xr.Dataset, left: float) -> xr.DataArray:
    """Steps from the switch until at most this share of the first excess loss is left; NaN where
    that is never.
    """
    low = data.relative_excess_loss <= left
    first = data.step.isel(step=low.argmax("step")).drop_vars("step") - data[TAU]
    return first.where(low.any("step") & right_sign(data))


def at(size: int, left: float) -> Measure:
    """The same measure at one batch size."""
    return lambda data: steps(data, left).sel({B: size})


def floor(data: xr.Dataset) -> xr.DataArray:
    """The least excess loss of a run, at the smallest batch size."""
    return data.relative_excess_loss.min("step").where(right_sign(data)).sel({B: FEW})


def draw(data: xr.Dataset) -> plot.Drawing:
    """Excess loss in t since the switch; steps to a hundredth of it against T."""
    title = "Stage two takes log(1/ε) / η steps at every T; small batches set a floor"
    figure, axes = plot.panels(2, title=title, width=4.6, height=3.2)
    sizes, rates = data[B].values, data[ETA2].values
    for color, (size, i) in enumerate(product(sizes, range(data.sizes[T]))):
        one = data.sel({B: size}).isel({T: i, ETA2: -1})
        since = one.assign_coords(step=one.step - int(one[TAU])).relative_excess_loss
        label = f"B = {power(size)}, T = {int(one[T])}"
        plot.series(
            axes[0, 0], since.sel(step=slice(0, 220)), "step", label, color=color, markers=False
        )
    plot.finish(
        axes[0, 0],
        f"steps since the switch, η2 = {rates[-1]:g}",
        CURVES["relative_excess_loss"],
        yscale="log",
    )
    for color, (left, eta) in enumerate(product((0.1, 0.01), rates)):
        values = steps(data, left).sel({B: sizes[-1], ETA2: eta})
        plot.series(axes[0, 1], values, T, f"to {left:g}, η2 = {eta:g}", color=color)
    plot.finish(
        axes[0, 1], "length T", "steps of stage two", f"B = {power(sizes[-1])}", xscale="log"
    )
    axes[0, 1].set_ylim(0, None)
    plot.ticks(axes[0, 1].xaxis, data[T].values)
    return figure


FIGURE = Figure(
    name="bigram_steps",
    source=f"{PAPER}, sections 3.3 and 3.4 and lemma E.10",
    theory=THEORY,
    config=Config(l1=1e-4, learning_rate=ETA1),
    sweep={
        "algorithm": "noise",
        "zip": {T: LENGTHS, TAU: SWITCH},
        "vary": {B: [FEW, MANY], ETA2: RATES},
        **runs(12, 300, every=1),
    },
    quick=QUICK
    | {"zip": {T: [128], TAU: [100]}, "vary": {B: [64], ETA2: RATES}, "buckets": "exact"},
    draw=draw,
    claims=(
        Claim(
            "CB-74",
            origin=interpretation(PAPER, "section 3.3"),
            statement="“Similar to Stage 1, this also only takes” few steps, read as: the number of steps to a hundredth of the excess loss changes with T with an exponent of -0.1 to 0.1 (B = 2^24, both rates).",
            measure=lambda d: exponent(at(MANY, 0.01)(d), T),
            bound=between(-0.1, 0.1),
        ),
        Claim(
            "CB-75",
            origin=interpretation(PAPER, "appendix E.2, lemma E.10"),
            statement="“Then, within” 1 / eta2 times a logarithm “steps, we will have” small errors, read as: the number of steps changes with eta2 with an exponent of -1.1 to -0.9 (B = 2^24, both T).",
            measure=lambda d: exponent(at(MANY, 0.01)(d), ETA2),
            bound=between(-1.1, -0.9),
        ),
        Claim(
            "CB-76",
            origin=interpretation(PAPER, "section 3.4"),
            statement="“at a linear rate (and the approximation error also decreases exponentially fast)”, read as: the excess loss takes 0.85 to 1.15 times log 10 / (4 eta2) steps from 1/100 to 1/1000 (B = 2^24).",
            measure=lambda d: (at(MANY, 1e-3)(d) - at(MANY, 1e-2)(d)) * 4 * d[ETA2] / np.log(10),
            bound=between(0.85, 1.15),
        ),
        Claim(
            "CB-77",
            origin=derived("derived: lambda below the noise of a step"),
            statement="At B = 1024, the least excess loss of a run is a floor that grows with T with an exponent of at least 0.3.",
            measure=lambda d: exponent(floor(d), T),
            bound=at_least(0.3),
        ),
    ),
)
