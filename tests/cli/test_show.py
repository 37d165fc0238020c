"""`jaxtheory show` and `list`: what they say, on one screen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.worked_example import EXAMPLE

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.cli.show import _FEW, _SCREEN, _WIDTH, _body, _of_figure, _page
from jaxtheory.cli.words.parsing import _load_figures


@pytest.mark.parametrize("name", ["low_rank", "contextual_bigram"])  # the longest
def test_a_theory_fits_a_screen_and_all_shows_the_rest(
    name: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["show", name]) == 0
    short = capsys.readouterr().out.splitlines()
    assert len(short) <= _SCREEN + 2 and max(map(len, short)) <= _WIDTH
    assert short[-1] == f"more: jaxtheory show {name} --all"
    assert sum(line.startswith(("  LR-", "  CB-")) for line in short) >= _FEW
    assert main(["show", name, "--all"]) == 0
    full_page = capsys.readouterr().out
    claims = [
        claim
        for entry in jaxtheory.figures.entries().values()
        if entry.theory == name
        for claim in jaxtheory.figures.get(entry.name).claims
    ]
    ids = {line.split()[0] for line in full_page.splitlines() if line.strip()}
    assert {claim.id for claim in claims} <= ids
    assert all(check.name in full_page for check in jaxtheory.theories.get(name).checks[:3])


def test_a_figure_shows_question_sweep_and_claims(capsys: pytest.CaptureFixture) -> None:
    assert main(["show", "walk_circles"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    figure = jaxtheory.figures.get("walk_circles")
    assert jaxtheory.figures.entries()["walk_circles"].question in text
    assert "every clockwise_probability = 0.5, 1; 16 seeds; 50 steps; recorded every step" in text
    assert all(claim.statement.replace("  ", " ") in text for claim in figure.claims)
    assert "expected to hold]" in text and "quick:" not in text
    assert main(["show", "walk_circles", "--all"]) == 0
    assert "2 seeds" in capsys.readouterr().out


def test_list_groups_figures_by_theory_with_their_time(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"walk_circles": 12.4, "rank_law": 171.0}
    monkeypatch.setattr(jaxtheory.figures, "seconds", times.get, raising=False)
    assert main(["list", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    starts = {word: i for i, line in enumerate(lines) for word in line.split()[:1]}
    assert starts["random_walk:"] < starts["walk_rate"] < starts["low_rank:"] < starts["rank_law"]
    assert lines[starts["walk_circles"]].split()[1:4] == ["12", "s", "What"]
    assert lines[starts["rank_law"]].split()[1:3] == ["3", "min"]
    assert lines[starts["walk_rate"]].split()[1] == "Do"


def test_list_is_short_and_shows_the_main_figures(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name}   " in text for name in jaxtheory.figures.headlines())
    assert all(name in text for name in jaxtheory.figures.entries())
    assert "and 13 more: walk_adam_epsilon, walk_direction" in text
    assert len(text.splitlines()) < 150 and max(map(len, text.splitlines())) <= 80


def test_a_page_is_as_wide_as_the_terminal(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (80, 100, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["show", "random_walk"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert columns - 10 < max(map(len, lines)) <= columns and len(lines) <= _SCREEN + 2


def test_unknown_names_list_at_most_five(capsys: pytest.CaptureFixture) -> None:
    assert main(["show", "zzzzz"]) == 2
    said = capsys.readouterr().err
    assert "unknown figure or theory 'zzzzz'; the nearest of" in said and said.count(",") == 4


@pytest.mark.parametrize("command", ["show", "run"])
def test_a_file_without_its_suffix_is_found(command, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("")
    assert main([command, "mine"]) == 2
    assert "unknown figure or theory 'mine'; did you mean mine.py" in capsys.readouterr().err
    assert main(["show", "walk_cirkles"]) == 2
    assert "did you mean 'walk_circles'?" in capsys.readouterr().err


def test_a_page_cuts_the_last_section_first() -> None:
    rows = [(f"name{i}", "meaning " * 20) for i in range(30)]
    lines = _page(["head"], {"metrics": rows[:20], "claims": rows}, show_all=False)
    assert len(lines) <= _SCREEN and all(len(line) <= _WIDTH for line in lines)
    assert sum("meaning" in line for line in lines) > 20 and "name19" in "".join(lines)
    assert lines[-1].startswith("    ") or "more:" in lines[-1]
    full_page = _page(["head"], {"metrics": rows[:20], "claims": rows}, show_all=True)
    assert sum(line.count("meaning") for line in full_page) == 50 * 20


def test_one_row_is_not_replaced_by_its_name() -> None:
    rows = [("a", "first"), ("b(index)", "second"), ("c", "third")]
    assert list(_body({"title": rows}, {"title": 2}))[-1].split() == ["c", "third"]
    assert list(_body({"title": rows}, {"title": 1}))[-1] == "  and 2 more: b, c"


def test_a_file_says_what_its_rows_say(capsys: pytest.CaptureFixture) -> None:
    assert main(["show", str(EXAMPLE)]) == 0
    printed = capsys.readouterr().out
    assert "the same after rounding weights below theta to zero" in printed
    assert f"more: jaxtheory show {EXAMPLE} --all" in printed


def test_rows_of_a_docstring_that_name_nothing_are_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file = tmp_path / "mine.py"
    template = (Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py").read_text()
    file.write_text(
        template
        + '\ndef predict(problem, config, steps):\n    """Curves.\n\n    lost: law  a curve that '
        'no name has\n    """\n    return {}\n\n\nTHEORY = THEORY._replace(predict=predict)\n'
        "FIGURE = FIGURE._replace(theory=THEORY)\n"
    )
    assert main(["show", str(file)]) == 0
    printed = capsys.readouterr().out.splitlines()
    at = printed.index("described, and not there in the default config")
    assert printed[at + 1].split() == "predicted_lost_law a curve that no name has".split()


def test_claims_that_are_expected_to_fail_say_so(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    template = (Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py").read_text()
    file.write_text(
        template
        + "\nimport dataclasses\nFIGURE = FIGURE._replace(claims=tuple(dataclasses.replace("
        'c, expect="fails", statement="grows") for c in FIGURE.claims))\nFIGURES = (FIGURE,)\n'
    )
    (figure,) = _load_figures(str(file))
    head, sections = _of_figure(figure, show_all=True)
    assert "How fast does SGD find the mean of a Gaussian?" in head[0] and "quick" in head[-1]
    assert all("grows" in said and "expected to fail" in said for _, said in sections["claims"])


def test_docstrings_are_read_where_python_removed_them(tmp_path: Path) -> None:
    shown = [
        subprocess.run(
            [sys.executable, *options, "-m", "jaxtheory", "show", "random_walk"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            check=True,
        ).stdout
        for options in ((), ("-OO",))
    ]
    assert shown[0] == shown[1] and b"accuracy" in shown[0]


ROOT = Path(__file__).parents[2]

REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", jaxtheory.theories.names())
def test_show_names_every_field(name: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["show", name]) == 0
    printed = capsys.readouterr().out
    theory = jaxtheory.theories.get(name)
    assert all(word in printed for word in theory.Config.__dataclass_fields__)
    assert all(algorithm in printed for algorithm in theory.algorithms)


def test_show_takes_the_figures_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = str(ROOT / "tests" / "data" / "figures.py")
    assert main(["show", file]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\nsweep: ") == len(_load_figures(file)) > 1
    template = (
        Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py"
    )  # a theory with a figure
    (tmp_path / "own.py").write_text(template.read_text())
    assert main(["show", str(tmp_path / "own.py")]) == 0
    shown = capsys.readouterr().out
    assert "fields: dimension (d)" in shown and "claims (1, in 1 figure)\n  T-1  A run" in shown
    (tmp_path / "none.py").write_text("THEORY = 3\n")
    assert main(["show", str(tmp_path / "none.py")]) == 2


def test_show_takes_a_file(capsys: pytest.CaptureFixture) -> None:
    assert main(["show", REGRESSION]) == 0
    printed = capsys.readouterr().out
    assert "Online linear regression" in printed
    assert "loss                 |w - w*|^2/2 + sigma^2/2" in printed and "weights(coord" in printed
