"""What does stage one cost as contexts grow: steps, the alphas' gap, the distance from the line?

With simulated noise and large batches, as lemma D.1 asks for; it ends where alpha_V = 0.1.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, between, derived, fitted_law, interpretation

from . import ETA, EXACT, PAPER, QUICK, SMALL, THEORY, B, Config, Function, T, runs
from ._curves import ALPHAS, CURVES, at_end, power

RATES = [0.05, 0.025]
FEW, MANY = 2**12, 2**20


def change(values: Any) -> xr.DataArray:
    """The change from the shortest contexts to the longest, divided by that of log T."""
    lengths = values[T].values
    gap = values.isel({T: -1}, drop=True) - values.isel({T: 0}, drop=True)
    return gap / np.log(lengths[-1] / lengths[0])


def ends(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """The steps of stage one, and |alpha_A - alpha_V| and |Delta_A| at its end."""
    gap = abs(data.attention_alignment - data.value_alignment)
    return {
        "steps of stage one": at_end(data),
        f"|{ALPHAS['attention_alignment']} - {ALPHAS['value_alignment']}|": at_end(data, gap),
        CURVES["attention_residual"]: at_end(data, data.attention_residual),
    }


def draw(data: xr.Dataset) -> plot.Drawing:
    """The three against T, noise at small batches and the others at large ones."""
    figure, axes = plot.panels(3, width=3.6, height=3.0)
    sizes = data[B].values[[-1, -1, 0]]
    for ax, size, (label, values) in zip(axes[0], sizes, ends(data).items(), strict=True):
        linear = "steps" in label
        for color, eta in enumerate(data[ETA].values):
            one = values.sel({ETA: eta, B: size})
            plot.series(ax, one, T, f"η = {eta:g}", color=color)
            if not linear:
                plot.law(ax, fitted_law(one, T))
            else:
                law = one.isel({T: 0}).mean() + np.log(one[T] / one[T][0]) / eta
                plot.theory(ax, one[T], law, "", color=color, says="slope log T / η")
        scale = "linear" if linear else "log"
        plot.finish(
            ax, f"length T (B = {power(size)})", label.replace("-", "−"), xscale="log", yscale=scale
        )
        plot.ticks(ax.xaxis, data[T].values)
    return figure


def measured(place: int, size: int) -> Function:
    """One of the ends at a batch size."""
    return lambda data: list(ends(data).values())[place].sel({B: size})


FIGURE = Figure(
    name="bigram_stage_one",
    source=f"{PAPER}, section 3.2 and lemma D.1",
    finding=Finding(
        "From T = 64 to 512 the steps of stage one grow about as log T / η, the squared attention noise about as T",
        rests_on=("CB-63", "CB-65"),
    ),
    theory=THEORY,
    config=Config(l1=0.0, switch_step=400),
    sweep={
        "algorithm": "noise",
        "vary": {ETA: RATES, B: [FEW, MANY], T: [64, 104, 176, 304, 512]},
        **runs(12, 400, every=4),
    },
    quick=QUICK | EXACT | {"vary": {ETA: RATES, **EXACT["vary"]}, "config": SMALL.replace(l1=0.0)},
    draw=draw,
    claims=(
        Claim(
            "CB-63",
            origin=interpretation(PAPER, "section 3.2"),
            statement="Stage one “would quickly boost it”, the signal, read as: the number of steps of stage one grows as 0.8 to 1.2 times log T / eta (B = 2^20, both rates).",
            measure=Measure(
                "growth of the steps of stage one, T 64 → 512, over log 8 / η, both η",
                lambda d: d[ETA] * change(measured(0, MANY)(d)),
            ),
            bound=between(0.8, 1.2),
            why="Long contexts cost hardly any steps, so that the samples must be paid in each step.",
        ),
        Claim(
            "CB-64",
            origin=interpretation(PAPER, "appendix D, lemma D.1 (c)"),
            statement="“one can also bound the difference between” alpha_A and alpha_V, read as by a constant over T: the difference falls with T with an exponent of -1.2 to -0.8 (B = 2^20).",
            measure=Measure(
                "exponent in T of |α_A − α_V|, end of stage one, B = 2^20, each η",
                lambda d: change(np.log(measured(1, MANY)(d))),
            ),
            bound=between(-1.2, -0.8),
            why="Stage two starts from alphas that are equal, and the lemma's constants are lost.",
        ),
        Claim(
            "CB-65",
            origin=interpretation(PAPER, "appendix E.1, lemma D.1 (b)"),
            statement="“As we have seen in Stage 1, the norm of” Delta_A “can scale linearly with” T, read as of the square of the norm: |Delta_A|^2 grows with T with an exponent of 0.8 to 1.2 (B = 2^12); the norm itself grows as the root of T.",
            measure=Measure(
                "exponent in T of |Δ_A|² at the end of stage one, B = 2^12, each η",
                lambda d: 2 * change(np.log(measured(2, FEW)(d))),
            ),
            bound=between(0.8, 1.2),
            why="It is the reason why stage one needs samples that grow with T.",
        ),
        Claim(
            "CB-85",
            origin=derived("derived, beside lemma D.1 (b), whose second bound is lost"),
            statement="At the end of stage one |Delta_V|^2 does not grow with T as |Delta_A|^2 does: its exponent in T is at most 0.5 on average over both rates and batches, half of that of |Delta_A|^2.",
            measure=Measure(
                "exponent in T of |Δ_V|² at the end of stage one, mean over η and B",
                lambda d: 2 * change(np.log(at_end(d, d.value_residual))).mean(),
            ),
            bound=at_most(0.5),
            why="Only attention pays for long contexts; the transition is learned at a price without T.",
        ),
    ),
)
