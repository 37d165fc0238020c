"""Findings: refused without claims, said only where every claim comes out as expected."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import plot
from jaxtheory.claims import Claim, Figure, FigureResult, Finding, at_most, derived, judge
from jaxtheory.claims.result import run_figure
from jaxtheory.plotting.drawing import title_of
from jaxtheory.reports import wording
from jaxtheory.reports.run_files import drawn, keep_drawing
from jaxtheory.texts.errors import InputError

FIGURE = jaxtheory.figures.get("walk_phase")


def claim(name, bound=1.0, expect="holds"):
    return Claim(
        name,
        origin=derived(),
        statement="The loss is small.",
        measure=lambda data: data.loss,
        bound=at_most(bound),
        expect=expect,
    )


def result(finding, claims, losses=(0.5,) * 16):
    data = xr.Dataset({"loss": ("seed", np.array(losses))})
    figure = Figure("one", "", None, None, {}, {}, tuple(claims), lambda data: None)
    figure = figure._replace(finding=finding)
    return FigureResult(figure, data, judge(figure.claims, data), ())


@pytest.mark.parametrize(
    ("text", "rests_on", "words"),
    [
        ("", ("A-1",), "without a period"),
        ("  ", ("A-1",), "without a period"),
        ("The loss falls.", ("A-1",), "without a period"),
        ("The loss falls", (), "rests_on = ()"),
        ("The loss falls", "A-1", "rests_on = 'A-1'"),
    ],
)
def test_a_finding_is_a_sentence_that_rests_on_claims(text, rests_on, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(").replace(")", r"\)")):
        Finding(text, rests_on=rests_on)


def test_it_is_said_where_each_claim_is_as_expected():
    finding = Finding("The loss falls", rests_on=("A-1", "A-2"))
    assert str(finding) == "The loss falls"
    good, refuted = claim("A-1"), claim("A-2", 0.1, "fails")
    assert result(finding, [good, refuted]).finding is finding
    differs = result(finding, [good, claim("A-2", 0.1)])
    assert differs.verdicts[1].outcome == "differs" and differs.finding is None
    undecided = result(finding, [good, refuted], [0.5, 1.5] * 8)
    assert undecided.verdicts[0].outcome == "undecided" and undecided.finding is None
    assert result(finding, [good, claim("A-2", 0.1, None)]).finding is None  # open: no statement
    assert result(finding, [good, refuted], [0.5] * 4).finding is None  # too few to be judged
    assert result(None, [good]).finding is None


def test_a_figure_s_finding_rests_on_its_own_claims():
    other = FIGURE._replace(finding=Finding("The loss falls", rests_on=("RW-20", "RW-21")))
    with pytest.raises(InputError, match=r"walk_phase rests on RW-21; did you mean 'RW-2[02]'"):
        run_figure(other, quick=True)


def draw(data):
    """Two losses, with the setting as title."""
    figure, ((ax,),) = plot.panels(title="d = 4")
    plot.theory(ax, [0, 1], [2, 1], "law")
    return figure


@pytest.mark.parametrize("losses", [[0.5] * 16, [0.5, 1.5] * 8, [0.5] * 4])
def test_a_drawing_has_the_finding_as_title_or_else_the_question(losses, tmp_path):
    finding = Finding("The error of W_Q falls as t^(-1/2)", rests_on=("A-1",))
    one = result(finding, [claim("A-1")], losses)
    one = one._replace(figure=one.figure._replace(draw=draw))
    question = wording.question_of(one.figure)
    assert question.startswith("Findings: refused")  # the first sentence of this file
    want = str(finding) if len(losses) == 16 and max(losses) < 1 else question
    figure = drawn(one)
    assert figure.get_suptitle().replace("\n", " ") == want.replace("W_Q", "W$_{Q}$").replace(
        "t^(-1/2)", "t$^{−1/2}$"
    )
    assert plot.caption(figure).startswith("d = 4. Dashed: law.")
    assert keep_drawing(tmp_path / "one.png", one)["title"] == want
    topic = drawn(one._replace(figure=one.figure._replace(finding=None)))
    assert title_of(topic) == "d = 4" and plot.caption(topic).startswith("Dashed: law.")
