"""Does the loss pass through phases: uniform, unigram, bigram, and how sharply?

Both layers are trained at once on chains, from A1 = 0 and A2 = β₀ I with a small β₀.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    derived,
    interpretation,
    last,
)

from . import PHASES, PLAIN, QUICK, SMALL, THEORY, P, level

ABSTRACT = f"{PHASES}, abstract"
BETA = "initial_strength"
STARTS = [1e-3, 1e-2, 1e-1]
LARGE = 1e-1
STEPS = 1000


def first(data: xr.Dataset, part: float) -> xr.DataArray:
    """The step at which this part of the fall of the test loss is made.

    Between records it is interpolated by a straight line.
    """
    fall = (data.test_loss.isel(step=0) - data.test_loss) / (
        data.test_loss.isel(step=0) - last(data.test_loss)
    )
    at = (fall >= part).argmax("step")
    before = (at - 1).clip(min=0)
    low, high = fall.isel(step=before), fall.isel(step=at)
    t0, t1 = data.step.isel(step=before), data.step.isel(step=at)
    time = t0 + (t1 - t0) * (part - low) / (high - low).where(high > low)
    return time.drop_vars("step", errors="ignore")


def width(data: xr.Dataset) -> xr.DataArray:
    """The steps of the middle 80 % of the fall, over those before it."""
    return (first(data, 0.9) - first(data, 0.1)) / first(data, 0.1)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss against the step with the levels, and the attention and strength of one start."""
    figure, ((losses, attention),) = plot.panels(2)
    later = data.isel(step=slice(1, None))
    for i, start in enumerate(data[BETA].values):
        plot.series(losses, later.test_loss.sel({BETA: start}), "step", f"β₀ = {start:g}", color=i)
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
    source=f"{PHASES}, the loss along training",
    finding=Finding(
        "From β₀ = 0.1 the loss starts over 0.003 nats off uniform and ends over 0.03 above that of the posterior mean",
        rests_on=("CG-9", "CG-12"),
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
            "CG-9",
            origin=interpretation(ABSTRACT),
            statement="“after an initial stage in which predictions are uniform” read as: the test loss starts within 0.003 of the level of the output 1/S.",
            measure=Measure(
                "|test loss at the start − level of the output 1/S| in nats, β₀ = 0.1",
                lambda data: abs(data.test_loss.isel(step=0) - level(data, "uniform")).sel(
                    {BETA: LARGE}
                ),
            ),
            bound=at_most(0.003),
            expect="fails",
            why="A network with logits starts uniform, and two layers of attention alone do not.",
        ),
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
            "CG-11",
            origin=interpretation(ABSTRACT),
            statement="“then, there is a rapid phase transition to the correct in-context bigram solution”, read as: the middle 80 % of the fall takes at most 1.5 times the steps before it.",
            measure=Measure(
                "steps of the middle 80 % of the loss's fall over those before, β₀ 0.1",
                lambda data: width(data).sel({BETA: LARGE}),
            ),
            bound=at_most(1.5),
            why="A fall that is late and then fast is what is called a phase transition.",
        ),
        Claim(
            "CG-12",
            origin=interpretation(ABSTRACT),
            statement="“the correct in-context bigram solution” read as: the test loss ends within 0.03 of the level of the posterior mean.",
            measure=Measure(
                "test loss at the end minus the posterior mean's, in nats, β₀ = 0.1",
                lambda data: (last(data.test_loss) - level(data, "bayes")).sel({BETA: LARGE}),
            ),
            bound=at_most(0.03),
            expect="fails",
            why="The posterior mean is what a correct answer is for short prompts.",
        ),
        Claim(
            "CG-13",
            origin=derived("measured: a sharp head overfits its prompt"),
            statement="Training ends at least 0.1 below the level of the bare counts of pairs, which a head with β → ∞ has.",
            measure=Measure(
                "bigram level minus the test loss at the end, in nats, β₀ = 0.1",
                lambda data: (level(data, "bigram") - last(data.test_loss)).sel({BETA: LARGE}),
            ),
            bound=at_least(0.1),
            why="The induction head of the proof is not the end of training for short prompts.",
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
            why="Near A2 = 0 the noise of 500 prompts decides the sign of A2, and with it that of the gradient of A1.",
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
            why="The proof starts with a positive β₀, and its size matters for finitely many prompts.",
        ),
    ),
)
