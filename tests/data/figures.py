"""Figures of linear regression whose claims come out in every way."""

from pathlib import Path

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, last, printed

THEORY = jaxtheory.theories.load(
    Path(__file__).parents[2] / "docs" / "examples" / "linear_regression.py"
).THEORY


def falls(dataset):
    return last(dataset.loss) < dataset.loss.isel(step=0)


def claim(name, expect, q=0.5):
    return Claim(
        name,
        origin=printed("source"),
        statement="the loss falls",
        measure=falls,
        bound=at_least(0.9),
        q=q,
        expect=expect,
    )


def draw(dataset):
    figure, axes = plot.panels(title="The loss $L_0$ falls")
    plot.series(axes[0, 0], dataset.loss, "step")
    return figure


def figure(name, *claims):
    return Figure(
        name,
        "source",
        THEORY,
        THEORY.Config(),
        {"seeds": 49, "steps": 8},  # as many as decide what is claimed of all
        {"seeds": 8, "steps": 5},
        claims,
        draw,
    )


FIGURES = (
    figure(
        "good",
        claim("falls", "holds"),
        claim("rises", None),
        claim("rarely", "fails", q=1),
    ),
    figure("bad", claim("wrong", "fails")),
)
