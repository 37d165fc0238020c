"""The figures: named as their files, valid in full and quick mode, few compilations, and claims
that react to made-up results.
"""

import importlib
import math
import re
from pathlib import Path

import jax
import pytest
from helpers.some import some

from jaxtheory import claims, figures
from jaxtheory.reports.wording import question_of

from .made_up import get, plan

ENTRIES = figures.entries()
LONG = 210  # lines; a longer file says why in its docstring ("Long, because ...")
WITHOUT_SEEDS = (
    "walk_failure",
    "neighbor_context",
    "neighbor_plane",
    "regression_time_course",
)  # on infinitely many walks or prompts
WITHOUT_CLAIMS = ("neighbor_plane",)
COMPILATIONS = {  # of the quick figures together, at most
    "attention_pruning": 11,
    "causal_graph": 9,
    "contextual_bigram": 13,
    "group_sparse": 16,
    "in_context_regression": 14,
    "low_rank": 20,
    "nearest_neighbor": 15,
    "factual_recall": 8,
    "positional_semantic": 6,
    "task_diversity": 5,
    "random_walk": 15,
}
SWEPT = [
    theory for theory in COMPILATIONS if any(entry.theory == theory for entry in ENTRIES.values())
]
THEORIES = [*SWEPT, "llama", "networks"]  # the last two: experiments, no sweeps of a theory
MADE_UP = [
    theory
    for theory in THEORIES
    if Path(__file__).with_name("made_up").joinpath(f"{theory}.py").is_file()
]
CASES = {
    f"{theory}: {text}": case
    for theory in MADE_UP
    for text, case in importlib.import_module(f"{__package__}.made_up.{theory}").CASES.items()
}

each_figure = pytest.mark.parametrize(
    "entry", ENTRIES.values(), ids=lambda entry: f"{entry.theory}/{entry.name}"
)
each_theory = pytest.mark.parametrize("theory", THEORIES)
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def figures_of(theory):
    """The figures of a theory."""
    return [get(entry.name) for entry in ENTRIES.values() if entry.theory == theory]


def inside(judged):
    """Whether the number itself satisfies the bound, however few runs there are behind it."""
    return judged.claim.bound.low <= judged.verdict.measured <= judged.claim.bound.high


def number(claim):
    return claim.id.partition("-")[2]


def test_every_figure_has_a_file_of_its_own():
    files = [file for file in figures.folder().glob("*/*.py") if not file.stem.startswith("_")]
    assert len(ENTRIES) == len(files)
    assert {entry.theory for entry in ENTRIES.values()} <= {*COMPILATIONS, *THEORIES}


@each_figure
def test_a_file_asks_a_question_and_holds_the_figure_of_its_name(entry):
    source = Path(figures.folder(), entry.theory, f"{entry.name}.py").read_text()
    figure = get(entry.name)
    theory = entry.theory if figure.experiment else figure.theory.name
    of_network = entry.theory == "networks" and theory.endswith("_transformer")
    assert figure.name == entry.name and (theory.startswith(entry.theory) or of_network)
    assert entry.question.endswith("?") and question_of(figure) == entry.question
    assert len(re.findall(r"\bFigure\(", source)) == 1
    assert source.count("\n") <= LONG or "Long, because" in source


@each_theory
def test_claims_have_numbers_of_their_own(theory):
    """A number is never given again: that of a dropped claim stays free."""
    claimed = [claim.id.split("-") for figure in figures_of(theory) for claim in figure.claims]
    assert len({prefix for prefix, _ in claimed}) == 1
    assert len({int(place) for _, place in claimed}) == len(claimed)


@each_theory
def test_a_statement_shows_whose_it_is_and_why_it_matters(theory):
    """Printed: the source's words in “ ”; an interpretation says how it reads them."""
    claims = [claim for figure in figures_of(theory) for claim in figure.claims]
    for claim in claims:
        assert claim.why.endswith(".") and claim.why.count(". ") == 0, claim.id
        quotes = "“" in claim.statement and "”" in claim.statement
        if claim.origin.kind == "printed":
            assert quotes and claim.origin.source not in ("derived", "measured"), claim.id
        if claim.origin.kind == "interpretation":
            assert "read as" in claim.statement, claim.id


ROUNDING = 1e-6  # a number that is 0 or positive by the sentence is so up to rounding


@each_theory
def test_a_number_of_ours_in_the_bound_makes_a_claim_an_interpretation(theory):
    """A printed claim that holds is bounded by 0, 1 or a number of the quotation.

    If it fails, a tolerance of ours speaks for the sentence that is refuted.
    """
    for claim in (claim for figure in figures_of(theory) for claim in figure.claims):
        if claim.origin.kind == "printed" and claim.expect == "holds":
            quoted = " ".join(re.findall("“([^“”]*)", claim.statement))
            known = {0.0, 1.0, *map(float, re.findall(r"\d+(?:\.\d+)?", quoted))}
            for end in (claim.bound.low, claim.bound.high):
                assert math.isinf(end) or abs(end) <= ROUNDING or end in known, claim.id


POINTING = "it|its|there|that|this|these|they|their|here|such|others|the others|the same"
OPENING = "(?:at|for|with|in|on|from|below|above|over|under|where|when) [^,:;]*"
DANGLING = re.compile(
    rf"(?:{OPENING}, )?(?:{POINTING})\b"
    rf"|{OPENING}\b(?<!which )(?:it|there|these|they|this|the same)\b",
    re.IGNORECASE,
)


def points_away(statement):
    """Whether a statement, quotations left out, starts with a subject that is named elsewhere."""
    while statement != (shorter := re.sub("“[^“”]*”", "", statement)):
        statement = shorter
    return bool(DANGLING.match(statement.strip()))


@each_theory
def test_a_statement_can_be_read_alone(theory):
    """Pages show claims one by one, and filters hide the one before."""
    for figure in figures_of(theory):
        for claim in figure.claims:
            assert not points_away(claim.statement), claim.id
            assert len(claim.statement.split()) <= 60, claim.id


def test_a_subject_that_is_named_elsewhere_is_seen():
    for broken in ("At η = 1 it does not: the cosine", "At t = 5, these grow", "That gap grows"):
        assert points_away(broken)
    assert not points_away("“it” is V: at t = 5, it falls")
    assert not points_away("At t = 5, the loss needs the steps in which it falls by half")


def test_theories_have_prefixes_of_their_own():
    assert len(
        {
            next(claim.id[:2] for figure in figures_of(theory) for claim in figure.claims)
            for theory in THEORIES
        }
    ) == len(THEORIES)


@pytest.mark.parametrize(
    "name", some(ENTRIES, *{entry.theory: entry.name for entry in ENTRIES.values()}.values())
)
def test_full_figure_is_valid_and_has_seeds_for_its_claims(name):
    figure = get(name)
    least = 1 if name in WITHOUT_SEEDS or figure.experiment else 8
    seeds = figure.sweep["seeds"] if figure.experiment else len(plan(name).seeds)
    assert seeds >= least
    assert bool(figure.claims) == (name not in WITHOUT_CLAIMS)


@pytest.mark.parametrize("theory", some(SWEPT, "random_walk", "group_sparse"))
def test_quick_figures_share_compilations(theory):
    programs = {
        (b.algorithm, jax.tree.structure(b.template), b.layout)
        for figure in figures_of(theory)
        for b in plan(figure.name, True).buckets
    }
    assert len(programs) <= COMPILATIONS[theory]


def test_numbers_of_one_replicate_are_exact_or_examples():
    """Where there is one seed alone, no number depends on it."""
    for name, entry in ENTRIES.items():
        figure = get(name)
        single = not figure.experiment and len(plan(name).seeds) == 1
        for claim in figure.claims:
            assert claim.exact == single, claim.id
            assert claim.example == (entry.theory == "llama"), claim.id


@each_case
def test_claims_react_to_the_data(case):
    judged = claims.judge(get(case.figure).claims, case.data())
    assert {number(j.claim) for j in judged if j.verdict and inside(j)} == set(case.holds.split())
    for judgment in judged:
        if number(judgment.claim) in case.n:
            assert (judgment.verdict.n if judgment.verdict else 0) == case.n[number(judgment.claim)]
        else:
            assert judgment.verdict and math.isfinite(judgment.verdict.measured)


@each_theory
def test_every_claim_is_seen_to_hold_and_to_fail(theory):
    successes, failures = set(), set()
    for case in (case for name, case in CASES.items() if name.startswith(f"{theory}: ")):
        numbers = {number(claim) for claim in get(case.figure).claims}
        successes |= numbers & set(case.holds.split())
        failures |= numbers - set(case.holds.split())
    assert (
        successes
        == failures
        == {number(claim) for figure in figures_of(theory) for claim in figure.claims}
    )


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.drawn]
)
def test_quick_data_can_be_drawn(case):
    figure, data = get(case.figure), case.data(quick=True)
    assert all(ax.has_data() for ax in figure.draw(data).axes)
    assert all(
        math.isfinite(j.verdict.measured) for j in claims.judge(figure.claims, data) if j.verdict
    )
