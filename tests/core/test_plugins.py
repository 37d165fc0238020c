"""Theories and figures from files and from other packages."""

import sys
from pathlib import Path

import pytest
from helpers.strangers import strangers  # noqa: F401

import jaxtheory
from jaxtheory.cli.main import main

ROOT = Path(__file__).parents[2]

REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


REPLACED = "from jaxtheory.cli.templates.template import THEORY\nTHEORY = THEORY._replace({})\n"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("def f(:\n", "line 1"),
        ("x = 1\n", "THEORY"),
        ("import nowhere_to_be_found\n", "nowhere_to_be_found"),
        ("raise SystemExit('no license')\n", "SystemExit: no license"),
        ("THEORY = 3\n", "expected a jaxtheory.Theory"),
        (REPLACED.format("checks=3"), "checks is a int, expected a tuple"),
        (REPLACED.format("checks=(3,)"), "a int, expected a jaxtheory.Check"),
        (REPLACED.format("algorithms=[]"), "algorithms is a list, expected a dict"),
        (REPLACED.format("examples=THEORY.examples[0]"), "examples is a Settings, expected a"),
        (
            Path(REGRESSION).read_text().replace("def sgd_step(key, t,", "def sgd_step(t, key,"),
            "argument 1 is 't', expected 'key'",
        ),
    ],
    ids="syntax nothing import exit record checks check algorithms examples arguments".split(),
)
def test_bad_theory_files_are_refused(
    source: str, named: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    file = folder / "mine.py"
    file.write_text(source)
    for command in (
        ["sweep", str(file), "--steps", "3"],
        ["verify", str(file)],
        ["show", str(file)],
    ):
        assert main(command) == 2
        assert named in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == [
        "mine.py"
    ]


@pytest.mark.usefixtures("strangers")
def test_theories_and_figures_of_other_packages(
    folder: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    entries = {row[0]: " ".join(row[1:]) for row in rows if row}
    assert entries["mean"] == "strangers How fast does SGD find the mean of a Gaussian?"
    assert entries["sad"].startswith("strangers broken: sad of strangers: ModuleNotFoundError: No")
    assert entries["mean_figure"].startswith("strangers How fast")
    assert main(["run", "mean_figure", "--quick", "--store", "out"]) == 0
    assert main(["sweep", "mean", "--steps", "2", "--store", "swept"]) == 0
    capsys.readouterr()
    assert main(["show", "mean"]) == 0
    assert "learning_rate" in capsys.readouterr().out
    capsys.readouterr()


@pytest.mark.usefixtures("strangers")
def test_broken_entry_points_are_told_of_in_one_line(capsys: pytest.CaptureFixture) -> None:
    broken = {
        "sad": "ModuleNotFoundError: No module named 'strangers.absent'",
        "number": "strangers.odd:NUMBER is a int, expected a jaxtheory.Theory",
        "lost": "AttributeError: module 'strangers.mean' has no attribute 'NOTHING'",
        "quits": "SystemExit: two lines",
        "sad_figure": "ModuleNotFoundError: No module named 'strangers.absent'",
        "number_figure": "strangers.odd:NUMBER is a int, expected a jaxtheory.Figure",
        "theory_figure": "strangers.mean:THEORY is a Theory, expected a jaxtheory.Figure",
    }
    for name, words in broken.items():
        figure = name.endswith("figure")
        for command in (["run"],) if figure else (["sweep", "--steps", "2"], ["verify"], ["show"]):
            assert main([*command, name]) == 2
            errors = capsys.readouterr().err
            assert f"{name} of strangers: {words}" in errors and len(errors.splitlines()) == 1


@pytest.mark.usefixtures("strangers")
def test_listing_reads_entry_points_and_imports_none(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    before = {*sys.modules}
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    missing = "ModuleNotFoundError: No module named 'strangers.absent'"
    for name in ("sad", "sad_figure"):
        assert f"broken: {name} of strangers: {missing}" in printed
    assert printed.count("broken: ") == 2
    assert not any(name.startswith("strangers") for name in {*sys.modules} - before)


def test_modules_beside_a_file_are_its_own(folder: Path) -> None:
    for name, rate in (("one", 1), ("two", 2)):
        (folder / name).mkdir()
        (folder / name / "beside_it.py").write_text(f"RATE = {rate}\n")
        (folder / name / "mine.py").write_text("from beside_it import RATE\n")
    paths = list(sys.path)
    rates = [jaxtheory.theories.load(Path(n) / "mine.py").RATE for n in ("one", "two", "one")]
    assert rates == [1, 2, 1]
    (folder / "one" / "beside_it.py").write_text("RATE = 345\n")
    assert jaxtheory.theories.load(folder / "one" / "mine.py").RATE == 345
    assert sys.path == paths
