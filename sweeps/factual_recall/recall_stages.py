"""In which order does the model learn relations, subjects and the noise of its prompts?

Prompts have 4 of 16 noise tokens; each fact has 1, 4 or 32 training prompts. A small start, α = 1e-4.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    interpretation,
    last,
)

from . import ABSTRACT, QUICK, THEORY, Config, fall, level

DRAWS = "num_draws"
SIZES = [1, 4, 32]
STEPS = 1200


def many(data: xr.Dataset) -> xr.Dataset:
    """The runs with the most prompts of each fact."""
    return data.isel({DRAWS: -1}, drop=True)


def at_peak(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Values at the step of the most hallucination."""
    return values.sel(step=data.hallucination.idxmax("step"), drop=True)


def at_relations(data: xr.Dataset) -> xr.DataArray:
    """The right answer's share of its relation when that first has a probability of 0.9."""
    late = data.relation_mass >= 0.9
    return data.right_given_relation.isel(step=late.argmax("step"), drop=True)


def grown(data: xr.Dataset) -> xr.DataArray:
    """The score of relations over its law, at the last step with a law of at most 0.3."""
    law = data.predicted_relation_score_growth
    small = (law <= 0.3).cumprod("step").sum("step") - 1
    return (data.relation_score / law).isel(step=small, drop=True)


def noise_learned(data: xr.Dataset) -> xr.DataArray:
    """The score of noise over that of subjects when the loss falls through half of its plateau."""
    step = data.step.isel(step=0, drop=True) + fall(data, level(data, "relation") / 2)
    ratio = data.noise_score / data.subject_score
    return ratio.sel(step=step.fillna(0), method="nearest", drop=True).where(step.notnull())


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss with its levels, the masses of one setting, and both losses by number of prompts."""
    figure, ((losses, masses, noise),) = plot.panels(3)
    some = many(data)
    plot.series(losses, some.loss, "step", "training", markers=False)
    for name, says in {"uniform": "log A", "relation": "relations known"}.items():
        plot.theory(losses, 0, float(level(some, name).mean()), "", says=says)
        place = (float(data.step[-1]), float(level(some, name).mean()))
        losses.annotate(says, place, fontsize=6, va="bottom", ha="right")
    plot.finish(losses, "step t", "loss", f"n = {int(data[DRAWS][-1])}")
    words = {"relation_mass": "relation's answers", "right": "right answer"}
    words |= {"hallucination": "wrong, of the relation"}
    for i, (name, says) in enumerate(words.items()):
        plot.series(masses, some[name], "step", says, color=i, markers=False)
    plot.theory(masses, 0, float(level(some, "relation", "right").mean()), "", says="Σ p(a|r)²")
    plot.finish(masses, "step t", "mean probability", "")
    for i, n in enumerate(data[DRAWS].values):
        plot.series(
            noise, data.test_loss.sel({DRAWS: n}), "step", f"n = {n}", color=i, markers=False
        )
    plot.finish(noise, "step t", "test loss", "")
    return figure


FIGURE = Figure(
    name="recall_stages",
    source="arXiv 2412.06538: sequential learning; derived: levels and growth",
    finding=Finding(
        "Relations are known first, their answers given as often as they occur; one prompt for each fact teaches noise",
        rests_on=("FR-1", "FR-2", "FR-5"),
    ),
    theory=THEORY,
    config=Config(init_scale=1e-4),
    sweep={
        "vary": {DRAWS: SIZES},
        "dtype": "float32",
        "seeds": 8,
        "steps": STEPS,
        "record": [*range(0, STEPS + 1, 15)],
        "buckets": "exact",
    },
    quick={
        "config": QUICK["config"].replace(num_noise=3, length=4, init_scale=1e-2),
        "seeds": 4,
        "vary": {DRAWS: [1, 4]},
        "steps": 200,
        "record": [*range(0, 201, 10)],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "FR-1",
            origin=interpretation(ABSTRACT),
            statement="“the model exhibits sequential learning behavior” read as: when the answers of a relation first have a probability of 0.9 (n = 32), the right one has at most 0.3 of that.",
            measure=Measure(
                "share of the right answer in its relation's at relation mass 0.9, n = 32",
                lambda data: at_relations(many(data)),
            ),
            bound=at_most(0.3),
            why="It makes the word sequential a number: the relation is known, the subject is not.",
        ),
        Claim(
            "FR-2",
            origin=derived("derived: softmax = p(·|r)"),
            statement="At the peak of hallucination the right answer has 0.95 to 1.3 times the probability Σ p(a|r)² of a model that knows the relation alone, n = 32.",
            measure=Measure(
                "probability of the right answer over Σ p(a|r)² at the peak, n = 32",
                lambda data: (
                    at_peak(many(data), many(data).right) / level(many(data), "relation", "right")
                ),
            ),
            bound=between(0.95, 1.3),
            why="It says what the model answers on the plateau: each answer as often as it occurs in the relation.",
        ),
        Claim(
            "FR-3",
            origin=derived("derived: the entropy of answers in a relation"),
            statement="At the peak of hallucination the loss is within 10 % of (1/R) Σ H(p(·|r)), the level of a model that knows the relation alone, n = 32.",
            measure=Measure(
                "loss over its plateau's level at the peak of hallucination, n = 32",
                lambda data: at_peak(many(data), many(data).loss) / level(many(data), "relation"),
            ),
            bound=between(0.9, 1.1),
            why="The height of the plateau has no free constant.",
        ),
        Claim(
            "FR-4",
            origin=derived("derived: u = u(0) cosh(|G| t)"),
            statement="The mean score of relations is within 5 % of the growth under a constant gradient, about u(0) cosh(|G_r| ηt), until the law reaches 0.3, a hundred times its start or more, n = 32.",
            measure=Measure(
                "score of relations over its law when that is 0.3, n = 32",
                lambda data: grown(many(data)),
            ),
            bound=between(0.95, 1.05),
            why="The first stage is solved in closed form.",
        ),
        Claim(
            "FR-5",
            origin=derived("derived: noise is learned first for n < S(T − 2)(1 − 1/N)/N"),
            statement="With one prompt for each fact noise tokens have at least 10 times the score of subjects when the loss falls through half of its plateau.",
            measure=Measure(
                "score of noise over that of subjects at half of the plateau, n = 1",
                lambda data: noise_learned(data.isel({DRAWS: 0}, drop=True)),
            ),
            bound=at_least(10.0),
            why="The law puts the change at n = 3.75 prompts for each fact.",
        ),
        Claim(
            "FR-6",
            origin=derived("measured: what learned noise costs"),
            statement="The test loss ends at least 50 times as high with one prompt for each fact as with 32.",
            measure=Measure(
                "test loss at the end, n = 1 over n = 32",
                lambda data: (
                    last(data.test_loss).isel({DRAWS: 0}) / last(data.test_loss).isel({DRAWS: -1})
                ),
            ),
            bound=at_least(50.0),
            why="Facts that lean on noise tokens are lost where the noise is another.",
        ),
    ),
)
