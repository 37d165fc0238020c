"""Between which levels does the loss fall, and what decides the sign of the second layer?

Both layers are trained at once on chains, from A1 = 0 and A2 = β₀ I with a small β₀.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last

from . import PLAIN, QUICK, SMALL, THEORY, P, level

BETA = "initial_strength"
STARTS = [1e-3, 1e-2, 1e-1]
LARGE = 1e-1
STEPS = 1000


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss against the step with the levels, and the attention and strength of one start."""
    figure, ((losses, attention),) = plot.panels(2)
    later = data.isel(step=slice(1, None))
    for color, start in zip(plot.shades(data.sizes[BETA]), data[BETA].values, strict=True):
        plot.series(
            losses, later.test_loss.sel({BETA: start}), "step", f"β₀ = {start:g}", color=color
        )
    middle = data.isel({BETA: -1})
    for name in ("uniform", "unigram", "bigram", "bayes"):
        height = float(level(middle, name).mean())
        plot.theory(losses, 0, height, "", says=f"{name} level")
        side = "bottom" if name in ("bigram", "bayes") else "top"
        losses.annotate(name, (float(data.step[-1]), height), fontsize=6, va=side, ha="right")
    plot.finish(losses, "step t", "test loss", xscale="log")
    one = later.isel({BETA: 0})
    plot.series(attention, one.parent_attention, "step", "attention to the parent", seeds=True)
    plot.series(attention, one.strength / 4, "step", "strength of A2, over 4", color=1, seeds=True)
    plot.finish(attention, "step t", "each run", f"β₀ = {data[BETA].values[0]:g}", xscale="log")
    return figure


FIGURE = Figure(
    name="graph_phases",
    source="measured: the loss along training of both layers at once",
    finding=Finding(
        "The loss starts at the unigram level, and ends 0.1 nats below that of the bare counts of pairs",
        rests_on=("CG-10", "CG-13"),
    ),
    theory=THEORY,
    config=SMALL.replace(**{P: 500}, learning_rate=30.0, second_rate=1.0),
    sweep=PLAIN
    | {
        "vary": {BETA: STARTS},
        "seeds": 32,
        "algorithm": "joint",
        "steps": STEPS,
        "record": [0, *sorted({round(t) for t in np.geomspace(2, STEPS, 60)})],
    },
    quick=QUICK
    | {
        "vary": {BETA: [1e-3, 1e-2, 1e-1]},
        "config": QUICK["config"].replace(learning_rate=30.0, second_rate=1.0),
        "steps": 600,
        "record": [0, 50, 100, 150, 200, 250, 300, 400, 600],
    },
    draw=draw,
    claims=(
        Claim(
            "CG-10",
            origin=derived("derived: the output at A2 = 0"),
            statement="Each run starts within 0.002 of the unigram level, the share of each state in the prompt, for β₀ up to 0.01.",
            measure=Measure(
                "|test loss at the start − unigram level| in nats, each β₀ ≤ 0.01",
                lambda data: abs(data.test_loss.isel(step=0) - level(data, "unigram")).sel(
                    {BETA: slice(None, 1e-2)}
                ),
            ),
            bound=at_most(0.002),
            q=1,
            why="At A2 = 0 the output is that share, so that the phase of unigrams is the start.",
        ),
        Claim(
            "CG-13",
            origin=derived("measured: a sharp head overfits its prompt"),
            statement="Training on chains with T = 16, α = 1/2 ends at least 0.1 below the level of the bare counts of pairs (the unigram share where there are none).",
            measure=Measure(
                "bigram level minus the test loss at the end, in nats, β₀ = 0.1",
                lambda data: (level(data, "bigram") - last(data.test_loss)).sel({BETA: LARGE}),
            ),
            bound=at_least(0.1),
            why="A sharp induction head is not the end of training for short prompts.",
        ),
        Claim(
            "CG-14",
            origin=derived("measured: the sign of A2"),
            statement="From β₀ = 0.001 at least one run in 50 ends with A2 of the wrong sign: a strength of 0 or below.",
            measure=Measure(
                "strength of A2 (diagonal less the rest) at the end, β₀ = 0.001",
                lambda data: last(data.strength).isel({BETA: 0}),
            ),
            bound=at_most(0.0),
            q=0.02,
            why="The sign of A2 is that of the gradient of A1: with the wrong one the first layer avoids the parents.",
        ),
        Claim(
            "CG-19",
            origin=derived("measured: the sign of A2"),
            statement="From β₀ = 0.1 the strength of A2 ends above 2 in each run.",
            measure=Measure(
                "strength of A2 (diagonal less the rest) at the end, β₀ = 0.1",
                lambda data: last(data.strength).sel({BETA: LARGE}),
            ),
            bound=at_least(2.0),
            q=1,
            why="A start that is large enough decides the sign.",
        ),
    ),
)
