"""The worked examples are theories: the contract holds, and their claims are as expected."""

from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.testing import parametrize_with_checks
from jaxtheory.theories import load

FOLDER = Path(__file__).parents[1] / "docs" / "examples"
ATTENTION, RATES = (load(FOLDER / f"{name}.py") for name in ("linear_attention", "two_rates"))


@parametrize_with_checks(ATTENTION.THEORY)
def test_linear_attention(check):
    check()


@pytest.mark.slow
@parametrize_with_checks(RATES.THEORY)
def test_two_rates(check):
    check()


@pytest.mark.slow
@pytest.mark.parametrize("module", [ATTENTION, RATES], ids=["linear_attention", "two_rates"])
def test_claims(module):
    result = jaxtheory.claims.run_figure(module.FIGURE, key=3)
    assert [judged.outcome for judged in result.verdicts] == ["as expected"] * 2


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_an_example_is_a_page(file):
    assert file.read_text().count("\n") <= 220
