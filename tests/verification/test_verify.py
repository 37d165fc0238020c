"""`verify`: kinds of checks, variations, shares of the checks, and options out of range."""

from pathlib import Path

import jax.numpy as jnp
import pytest
from helpers.spoilt import EXAMPLE, refused, spoilt
from helpers.worked_example import THEORY, Config

from jaxtheory import Check, InputError, verify
from jaxtheory.cli.main import main
from jaxtheory.verification.verify import _verify_part


def table(kind, fn, seeds=3):
    """What `verify` finds of one check; padding, which `test_padding` is about, is left out."""
    check = Check("f: statement", "test", kind, fn)
    theory = THEORY._replace(checks=(check,), examples=(Config(dimension=2),))
    return verify(theory, seeds=seeds, only=[check.name])


@pytest.mark.parametrize(
    ("kind", "got", "want", "passed"),
    [
        ("equal", 1.0, 1.0 + 1e-13, True),
        ("equal", 1.0, 1.0 + 1e-9, False),
        ("equal", float("nan"), 1.0, False),
        ("equal", 0.0, 0.0, True),
        ("bound", 1.0, 2.0, True),
        ("bound", 2.0, 1.0, False),
        ("bound", float("nan"), 1.0, False),
    ],
)
def test_exact_kinds(kind, got, want, passed):
    assert table(kind, lambda key, config: (jnp.float64(got), jnp.float64(want))).passed is passed


@pytest.mark.parametrize(("got", "passed"), [(1.4, True), (1.6, False)])
def test_sampled_kind_allows_five_standard_errors(got, passed):
    parts = jnp.float64(got), jnp.float64(1.0), jnp.float64(0.1)
    assert table("sample", lambda key, config: parts).passed is passed


def test_a_check_that_applies_nowhere_fails():
    (row,) = table("equal", lambda key, config: None).checks
    assert not row.passed and row.where == "applies to no example"


def test_the_first_variation_is_the_example_itself_and_the_others_differ():
    moved = lambda key, config: (jnp.abs(config.learning_rate - 0.1), jnp.float64(1e-15))
    assert not table("bound", moved).passed
    assert table("bound", moved, seeds=1).passed


def test_shares_of_the_checks_together_are_the_whole():
    got, want = jnp.float64(1.5), jnp.float64(1.0)
    checks = tuple(
        Check(f"f: {name}", "test", "equal", lambda key, config: (got, want)) for name in "abcd"
    )
    theory = THEORY._replace(checks=checks, examples=(Config(dimension=2),))
    tables = [_verify_part(lambda name: theory, "any", 1, part, 3) for part in range(3)]
    full_table = verify(theory, seeds=1, only=[check.name for check in checks])
    assert [row for table in tables for row in table.checks] == full_table.checks
    assert tables[0].assumptions and not tables[1].assumptions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": ["g: statement"]}, "only = 'g: statement': linear_regression has no such check"),
        ({"seeds": 0}, "seeds = 0: must be an integer"),
        ({"seeds": 1.5}, "seeds = 1.5: must be an integer"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        verify(THEORY, **options)


CURVE = '    return {"error": decay + floor * (1 - decay)}'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("examples=(", "examples=() and (", "mine has no examples to run its checks on"),
        (EXAMPLE, "Settings(dimension=0)", "mine.examples[0]: dimension (d) = 0"),
        (CURVE, '    return {"eror": decay}', "predict: no metric is called 'eror'"),
    ],
)
def test_verify_says_what_it_cannot_check(
    right: str, wrong: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(spoilt(right, wrong))
    refused(["verify", "mine.py"], message, capsys)


SPOILT = [
    ("def loss(params,", "def loss(w,", "mine.py: mine.loss: argument 1 is 'w', expected 'params'"),
    ("    loss=loss,", "    los=loss,", "Theory has no 'los'; did you mean 'loss'?"),
    (EXAMPLE, "Settings(dimension=0)", "mine.examples[0]: dimension (d) = 0"),
    ("THEORY = Theory(", "OTHER = Theory(", "mine.py"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), SPOILT)
def test_the_command_and_python_say_the_same(
    right: str, wrong: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(spoilt(right, wrong))
    assert main(["verify", "mine.py"]) == 2
    printed = capsys.readouterr().err.rstrip("\n")
    with pytest.raises(InputError) as error:
        verify("mine.py")
    assert str(error.value) == printed and message in printed
