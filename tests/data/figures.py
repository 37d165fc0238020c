"""Figures of linear regression whose claims come out in every way."""

from pathlib import Path

import jaxtheory
from jaxtheory import Figure, holds, plot, refuted, undecided

THEORY = jaxtheory.theories.load(
    Path(__file__).parents[2] / "docs" / "examples" / "linear_regression.py"
).THEORY


def falls(dataset):
    return dataset.loss.isel(step=-1) < dataset.loss.isel(step=0)


def claim(name, expected, minimum=2):
    made = {"holds": holds, "refuted": refuted, "open": undecided}[expected]
    return made(
        name,
        "printed",
        "source",
        "the loss falls",
        falls,
        statistic="share",
        where="together",
        at_least=0.9,
        minimum=minimum,
    )


def draw(dataset):
    figure, axes = plot.panels()
    plot.series(axes[0, 0], dataset.loss, "step")
    return figure


def figure(name, *claims):
    return Figure(
        name,
        "source",
        THEORY,
        THEORY.Config(),
        {"seeds": 4, "steps": 8},
        {"seeds": 2, "steps": 5},
        claims,
        draw,
    )


FIGURES = (
    figure(
        "good",
        claim("falls", "holds"),
        claim("rises", "open"),
        claim("rarely", "refuted", minimum=3),
    ),
    figure("bad", claim("wrong", "refuted")),
)
