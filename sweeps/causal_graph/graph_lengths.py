"""Does the loss near that of the posterior mean as prompts grow, also for other chains than in training?

Chains of S = 3 states and α = 1; A1 is trained for 60 steps with η = 600 (T / 16)², then A2.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    derived,
    exponent,
    interpretation,
    last,
)

from . import GRADIENT, PLAIN, SHIFTED, Shifted, T, level

TESTED = "test_concentration"
LENGTHS, TESTS = [16, 32, 64, 128, 256], [0.2, 1.0, 5.0]
TRAINED = 1.0


def points(lengths: list[int]) -> dict[str, list]:
    """The rate that belongs to each T."""
    return {T: lengths, "learning_rate": [600.0 * (length / 16) ** 2 for length in lengths]}


def excess(data: xr.Dataset) -> xr.DataArray:
    """The test loss at the end minus that of the posterior mean, in nats."""
    return last(data.test_loss) - level(data, "bayes")


def solved(data: xr.Dataset) -> xr.DataArray:
    """The share of the way from the unigram level to the posterior mean that training has made."""
    return 1 - excess(data) / (level(data, "unigram") - level(data, "bayes"))


def as_trained(values: xr.DataArray) -> xr.DataArray:
    """On test prompts of the law of the training prompts."""
    return values.sel({TESTED: TRAINED})


def draw(data: xr.Dataset) -> plot.Drawing:
    """The share of the way and the excess of the loss against T, for each α of the test prompts."""
    figure, ((ways, losses),) = plot.panels(2)
    for color, alpha in zip(plot.shades(data.sizes[TESTED]), data[TESTED].values, strict=True):
        runs, label = data.sel({TESTED: alpha}), f"test α = {alpha:g}"
        plot.series(ways, solved(runs), T, label, color=color)
        plot.series(losses, excess(runs), T, label, color=color)
    for height, says in ((0.0, "unigram level"), (1.0, "posterior mean")):
        plot.reference(ways, None, height, says=says)
    plot.finish(ways, "length T", "share of the way", xscale="log")
    plot.finish(losses, "length T", "loss − posterior mean's", "nats", xscale="log", yscale="log")
    for ax in (ways, losses):
        plot.ticks(ax.xaxis, data[T].values)
    return figure


FIGURE = Figure(
    name="graph_lengths",
    source=f"{GRADIENT}, the task is solved; derived: the level of the posterior mean",
    finding=Finding(
        "As prompts grow the loss nears that of the posterior mean, also on chains of another law than in training",
        rests_on=("CG-26", "CG-27", "CG-29"),
    ),
    theory=SHIFTED,
    config=Shifted(num_states=3, num_prompts=500, concentration=TRAINED, epsilon=1e-3).replace(
        switch_step=60, second_rate=20.0
    ),
    sweep=PLAIN
    | {
        "zip": points(LENGTHS),
        "vary": {TESTED: TESTS},
        "algorithm": "two_stage",
        "steps": 100,
        "record": [0, 60, 100],
        "buckets": "exact",
    },
    quick={
        "config": Shifted(num_states=3, num_prompts=60, switch_step=20),
        "zip": points([8, 16]),
        "vary": {TESTED: TESTS[:2]},
        "steps": 30,
        "record": [0, 30],
        "buckets": "pad",
        "seeds": 4,
    },
    draw=draw,
    claims=(
        Claim(
            "CG-26",
            origin=interpretation(f"{GRADIENT}, abstract"),
            statement="“learns to solve this task” read as: on chains with S = 3, α = 1 and T = 256 the loss ends at least 95 % of the way from the unigram level to that of the posterior mean.",
            measure=Measure(
                "loss's share of the way from unigram to posterior mean, T = 256",
                lambda data: as_trained(solved(data)).isel({T: -1}),
            ),
            bound=at_least(0.95),
            panel=0,
            why="Of all answers from these counts the posterior mean is the best, up to ε.",
        ),
        Claim(
            "CG-27",
            origin=derived("measured: the way against T"),
            statement="Each doubling of T from 16 to 256 brings the loss nearer to that of the posterior mean, as a share of its way from the unigram level (S = 3, α = 1).",
            measure=Measure(
                "gain in the share of the way by a doubling of T, smallest of four",
                lambda data: as_trained(solved(data)).diff(T),
            ),
            bound=at_least(0.0),
            why="An output that is a share of attention cannot add a constant α to a count, which matters less in long prompts.",
        ),
        Claim(
            "CG-28",
            origin=derived("measured: the excess against T"),
            statement="The loss minus that of the posterior mean falls faster than 1/T from T = 16 to 256 (S = 3, α = 1).",
            measure=Measure(
                "exponent in T of the loss minus the posterior mean's, T from 16 to 256",
                lambda data: exponent(as_trained(excess(data)).where(lambda nats: nats > 0), T),
            ),
            bound=at_most(-1.0),
            why="The posterior mean itself is of order 1/T above the entropy, and training comes nearer to it than that.",
        ),
        Claim(
            "CG-29",
            origin=derived("measured: other chains at test time"),
            statement="Trained on chains with α = 1, T = 256, the model solves nearly uniform and nearly deterministic ones too: for α = 5 and α = 1/5 its loss is at least 70 % of the way from the unigram level to the mean of the posterior that knows this α.",
            measure=Measure(
                "loss's share of the way from unigram to posterior mean, test α = 1/5, 5",
                lambda data: solved(data).isel({T: -1}).sel({TESTED: [TESTS[0], TESTS[-1]]}),
            ),
            bound=at_least(0.7),
            panel=0,
            why="What is learned on one law of chains serves on others.",
        ),
    ),
)
