"""What does stage one cost when more positions are attended?

With simulated noise, as `bigram_stage_one`, at one length and one batch size.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    between,
    derived,
    exponent,
    fitted_law,
    interpretation,
)

from . import EXACT, PAPER, QUICK, SMALL, THEORY, Config, runs
from ._curves import at_end

Q = "sparsity"
RATE, LENGTH, SIZE = 0.05, 1024, 2**18


def steps(data: xr.Dataset) -> xr.DataArray:
    """The steps of stage one."""
    return at_end(data)


def of_norm(data: xr.Dataset) -> xr.DataArray:
    """|Delta_A|^2 at the end of stage one over the squared signal alpha_A^2 K_Q."""
    signal = 1 / data[Q] - 1 / LENGTH
    off, alpha = (at_end(data, data[f"attention_{name}"]) for name in ("residual", "alignment"))
    return off**2 / (alpha**2 * signal)


def of_entries(data: xr.Dataset) -> xr.DataArray:
    """The variance of the entries off the support at the end of stage one, over (alpha_A / Q)^2."""
    spread = at_end(data, data.off_support_std)
    return (spread * data[Q] / at_end(data, data.attention_alignment)) ** 2


def slower(data: xr.Dataset) -> xr.DataArray:
    """The steps that are saved per log Q, times eta."""
    durations = steps(data)
    gap = durations.isel({Q: 0}, drop=True) - durations.isel({Q: -1}, drop=True)
    return RATE * gap / np.log(float(data[Q][-1] / data[Q][0]))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The two shares of noise, and the steps of stage one, against Q."""
    figure, axes = plot.panels(3, width=3.6, height=3.0)
    panels = (
        (of_norm, r"$\|\Delta_A\|^2$ / squared signal", "log"),
        (of_entries, "variance of an entry / squared signal", "log"),
        (steps, "steps of stage one", "linear"),
    )
    for ax, (measure, label, scale) in zip(axes[0], panels, strict=True):
        values, title = measure(data), ""
        if bool(values.notnull().any()):
            title = plot.law(ax, fitted_law(values, Q)) if scale == "log" else ""
            plot.series(ax, values, Q)
        plot.finish(ax, "attended positions Q", label, title, xscale="log", yscale=scale)
        plot.ticks(ax.xaxis, data[Q].values)
    return figure


FIGURE = Figure(
    name="bigram_sparsity",
    source=f"{PAPER}, section 1: samples polynomial in Q",
    finding=Finding(
        "In stage one noise over squared signal grows about as Q for attention as a whole, as Q² per entry (Q = 1 to 8)",
        rests_on=("CB-100", "CB-101"),
    ),
    theory=THEORY,
    config=Config(l1=0.0, switch_step=400, length=LENGTH, batch_size=SIZE, learning_rate=RATE),
    sweep={"algorithm": "noise", "vary": {Q: [1, 2, 3, 5, 8]}, **runs(12, 240, every=2)},
    quick=QUICK
    | EXACT
    | {
        "algorithm": "noise",
        "vary": {Q: [2], **EXACT["vary"]},
        "config": SMALL.replace(l1=0.0),
    },
    draw=draw,
    claims=(
        Claim(
            "CB-100",
            origin=interpretation(PAPER, "section 1"),
            statement="“polynomial dependence on the sequence length” and “the sparsity parameter”, read as of stage one: at a given batch, |Delta_A|^2 over the squared signal alpha_A^2 K_Q grows with Q with an exponent of 0.8 to 1.2 over five values from 1 to 8 (T = 1024, B = 2^18).",
            measure=Measure(
                "exponent in Q of |Δ_A|² / (α_A² K_Q) at the end of stage one",
                lambda d: exponent(of_norm(d), Q),
            ),
            bound=between(0.8, 1.2),
            why="It is the degree of the source's polynomial in Q for attention as a whole, which is lost.",
        ),
        Claim(
            "CB-101",
            origin=derived(
                "derived: the noise of an entry does not contain Q, its signal is alpha_A / Q"
            ),
            statement="In each entry of A the noise over the squared signal grows as the square of Q: the variance of an entry off the support over (alpha_A / Q)^2 has an exponent of 1.8 to 2.2 in Q (T = 1024, B = 2^18).",
            measure=Measure(
                "exponent in Q of off-support variance / (α_A / Q)², end of stage one",
                lambda d: exponent(of_entries(d), Q),
            ),
            bound=between(1.8, 2.2),
            law=2,
            why="Threshold and rounding compare single entries, and so need the larger power of samples.",
        ),
        Claim(
            "CB-102",
            origin=derived("derived: alpha_V = d sinh s with d = 1 / (T K_Q)"),
            statement="In steps, more attended positions are cheaper: with Q = 8 stage one takes 0.8 to 1.2 times log Q / eta fewer steps than with Q = 1.",
            measure=Measure("steps of stage one, Q = 1 minus Q = 8, over log 8 / η", slower),
            bound=between(0.8, 1.2),
            law=1,
            why="The drift that starts the growth is the larger the more positions are attended.",
        ),
    ),
)
