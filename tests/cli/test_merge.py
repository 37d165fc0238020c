"""`jaxtheory merge`: a store that every command reads, or one sentence and no store."""

from pathlib import Path

import pytest
from helpers.worked_example import EXAMPLE

import jaxtheory
from jaxtheory.cli.main import main

SWEEP = ["sweep", str(EXAMPLE), "--vary", "eta=.1,.2", "--steps", "4", "--dtype", "float64"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The stores of the seeds 0 and 1, and of the seed 2."""
    folder = tmp_path_factory.mktemp("swept")
    one, two = str(folder / "one"), str(folder / "two")
    assert main([*SWEEP, "--seeds", "2", "--store", one]) == 0
    assert main([*SWEEP, "--seeds", "2,", "--store", two]) == 0
    return one, two


def test_a_merged_store_is_exported_and_returned_by_the_sweep(
    stores: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["merge", *stores, "--to", "both"]) == 0
    printed = capsys.readouterr().out
    assert "dataset   both/data.zarr\ndims      learning_rate 2, seed 3, step 5" in printed
    assert main(["export", "both", "--format", "csv"]) == 0
    assert len(Path("both/data.csv").read_text().splitlines()) == 1 + 2 * 3 * 5
    Path("both/data.csv").unlink()
    before = {file: file.stat().st_mtime_ns for file in Path("both").rglob("*")}
    assert main([*SWEEP, "--seeds", "3", "--store", "both"]) == 0  # computes nothing
    assert {file: file.stat().st_mtime_ns for file in Path("both").rglob("*")} == before
    assert main([*SWEEP, "--seeds", "4", "--store", "both"]) == 0  # trains the fourth seed
    assert jaxtheory.open_store("both").sizes["seed"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{one}", "--to", "out"], "give two sweeps or more"),
        (["{one}", "absent", "--to", "out"], "absent: no such directory"),
        (["{one}", "{two}", "--to", "{two}"], "two already exists; choose another directory"),
        (["{one}", "{two}"], "--to"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    words: list[str],
    message: str,
    stores: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    named = [word.format(one=stores[0], two=stores[1]) for word in words]
    capsys.readouterr()
    assert main(["merge", *named]) == 2
    printed = capsys.readouterr()
    assert message in printed.out + printed.err and list(tmp_path.iterdir()) == []
