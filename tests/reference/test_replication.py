"""The scripts of `replication`: gradients by hand against differences, tiny runs, no library; and
how `replicate` compares two means.
"""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxtheory
from tests.reference import agree as compare
from tests.reference import replicate

FOLDER = Path(__file__).with_name("replication")
THEORIES = sorted(path.stem for path in FOLDER.glob("*.py"))


def test_every_theory_has_a_script():
    assert THEORIES == sorted(replicate.ROWS) == sorted(jaxtheory.theories.names())
    assert {*replicate.SEEDS} <= {*THEORIES}


@pytest.mark.parametrize("theory", THEORIES)
def test_scripts_import_numpy_and_the_standard_library_alone(theory):
    tree = ast.parse((FOLDER / f"{theory}.py").read_text(encoding="utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Name):
            assert node.id not in ("__import__", "importlib", "exec", "eval")
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


@pytest.mark.parametrize("theory", THEORIES)
def test_gradients_by_hand_are_those_of_differences(theory):
    for seed in range(2):
        cases = list(replicate.script(theory).examples(np.random.default_rng(seed)))
        assert cases
        for _, loss, x, by_hand in cases:
            compare.agree(by_hand, compare.slope(loss, x), tolerance=1e-6)


@pytest.mark.parametrize("theory", THEORIES)
def test_what_the_scripts_simplify_is_equal_to_what_is_written(theory):
    for _, value, want in replicate.script(theory).identities(np.random.default_rng(3)):
        compare.agree(value, want, tolerance=1e-8)


@pytest.mark.parametrize("theory", THEORIES)
def test_tiny_runs_give_a_value_per_seed_and_row(theory):
    script = replicate.script(theory)
    statistics = script.replicate(range(2), **script.TINY)
    assert set(statistics) == {row.key for row in replicate.ROWS[theory]}
    for row in replicate.ROWS[theory]:
        assert statistics[row.key].shape == ((1,) if row.exact else (2,)), row
    again = script.replicate(range(2), **script.TINY)
    for key, values in statistics.items():
        np.testing.assert_array_equal(values, again[key])


def test_rows_name_claims_that_exist():
    figures = map(jaxtheory.figures.get, jaxtheory.figures.entries())
    known = {claim.id for figure in figures for claim in figure.claims} | {replicate.NONE}
    named = {
        name for rows in replicate.ROWS.values() for row in rows for name in row.claim.split(", ")
    }
    assert named <= known


def around(center, n=10, width=1.0):
    return replicate.mean_of(center + width * np.linspace(-1, 1, n))


def test_means_agree_within_their_intervals_only():
    assert replicate.agree(around(0.0), around(0.3))
    assert not replicate.agree(around(0.0), around(3.0))
    # each interval reaches to the other, but the difference is beyond its own
    halves = around(0.0).half
    assert not replicate.agree(around(0.0), around(1.9 * halves))
    assert replicate.agree(around(0.0), around(1.2 * halves))


def test_equal_values_agree_exactly_and_missing_ones_never():
    zero, one = replicate.mean_of(np.zeros(4)), replicate.mean_of(np.ones(4))
    assert replicate.agree(zero, zero) and not replicate.agree(zero, one)
    assert replicate.agree(replicate.mean_of([0.0]), replicate.mean_of([1e-16]), exact=True)
    assert not replicate.agree(replicate.mean_of([0.0]), replicate.mean_of([1e-9]), exact=True)
    missing = replicate.mean_of([np.nan])
    assert not replicate.agree(missing, zero) and not replicate.agree(missing, missing)
    assert not replicate.agree(missing, missing, exact=True)
    assert replicate.mean_of([1.0, np.nan, 3.0])[:1] == (2.0,)


def test_intervals_are_student_s():
    mean = replicate.mean_of([0.0, 1.0, 2.0])
    # t(0.995, 2) = 9.9248
    assert mean.half == pytest.approx(9.9248 / np.sqrt(3), rel=1e-4)


def test_one_row_that_disagrees_gives_exit_code_1(monkeypatch, capsys):
    rows = (replicate.Row("a", "X-1", "some statistic"),)
    monkeypatch.setattr(replicate, "ROWS", {"nearest_neighbor": rows})
    monkeypatch.setattr(replicate, "ProcessPoolExecutor", Inline)
    numbers = lambda center: lambda name: ({"a": center + np.arange(4.0)}, 0.0)
    assert replicate.main([], numbers(0.0), numbers(0.1)) == 0
    assert "| yes |" in capsys.readouterr().out
    assert replicate.main([], numbers(0.0), numbers(50.0)) == 1
    assert "**no**" in capsys.readouterr().out


class Inline:
    """Runs a job at once, in this process."""

    def __init__(self, *_, **__):
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def submit(self, function, name):
        done = Inline()
        done.value = function(name)
        return done

    def result(self):
        return self.value
