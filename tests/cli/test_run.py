"""`jaxtheory run`: verdicts and drawings of figures, and files that are refused."""

from pathlib import Path

import pytest
from helpers.spoilt import refused, spoilt

from jaxtheory.cli.main import main
from jaxtheory.cli.run import _COLUMNS, _paragraphs, _rows
from jaxtheory.cli.terminal import table_of_lines

ROOT = Path(__file__).parents[2]

REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("FIGURE = 3\n", "mine.py: a int, expected a jaxtheory.Figure"),
        ("FIGURES = 3\n", "FIGURES is a int, expected a tuple"),
        ("FIGURES = (3,)\n", "mine.py: a int, expected a jaxtheory.Figure"),
        ("FIGURES = ()\n", "must define FIGURE"),
    ],
)
def test_bad_figure_files_are_refused(
    source: str, named: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(source)
    assert main(["run", "mine.py"]) == 2
    errors = capsys.readouterr().err
    assert named in errors and len(errors.splitlines()) == 1


def test_run_judges_and_draws(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["run", FIGURES, "--quick", "--store", "out"]) == 1
    printed = capsys.readouterr().out
    assert "rarely ? undecided: 1, claimed ≥ 0.9; 8 of 8 (all are claimed), 8 equal" in printed
    assert "differs: holds" in printed
    assert "3 hold, 1 undecided; 1 differs from what is expected: wrong" in printed
    assert (folder / "out" / "good-quick.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "out" / "bad-quick.png").exists()


def test_run_draws_for_a_paper(folder: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["run", FIGURES, "--quick", "--store", "out", "--key", "7"]
    assert main([*arguments, "--paper", "column"]) == 1
    for kind in ("pdf", "png", "txt"):
        assert (folder / "out" / f"good-quick-key7-column.{kind}").stat().st_size
    assert "good-quick-key7-column.pdf" in capsys.readouterr().err


def test_the_worst_news_come_first_each_in_one_line(capsys: pytest.CaptureFixture) -> None:
    claim = {"decision": "holds", "outcome": "as expected", "finding": "holds"}
    claim |= {"statement": "It is so. " * 40, "bound": "≤ 1", "measured": 0.5, "number": ""}
    claim |= {"interval": [0.123, 0.987], "n": 8, "satisfied": 7, "line": "loss: 0.5, claimed ≤ 1"}
    fails = {"decision": "fails", "finding": "refuted as read"}
    unknown = {"decision": "undecided", "outcome": "undecided", "finding": "undecided"}
    claims = {
        "A-1": claim,
        "A-2": claim | {"outcome": "open"},
        "A-3": claim | unknown,
        "A-4": claim | fails,
        "A-5": claim | fails | {"outcome": "differs"},
    }
    rows = [*_rows([{"claims": claims}])]
    assert [row[0] for row in rows] == ["A-5", "A-4", "A-3", "A-1", "A-2"]
    assert [row[1] for row in rows[::2]] == [
        "✗ differs: refuted as read",
        "? undecided",
        "✓ holds (open)",
    ]
    assert {row[2:5] for row in rows} == {("0.5 [0.123, 0.987]", "≤ 1", "7 of 8")}
    table_of_lines("title", _COLUMNS, rows)
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "title" and len(lines) == 3 + len(rows)
    assert max(map(len, lines)) == 100 and all("…" in line for line in lines[3:])
    assert [row[5] for row in _rows([{"claims": {"A-1": claim | {"number": "loss"}}}])] == ["loss"]
    first, *_ = paragraphs = [*_paragraphs({"claims": claims})]
    assert first == "A-5 ✗ differs: refuted as read: loss: 0.5, claimed ≤ 1"
    assert max(map(len, "\n".join(paragraphs).splitlines())) <= 100


def test_an_open_or_undecided_claim_does_not_fail(folder: Path) -> None:
    good = folder / "good.py"
    good.write_text(
        f"import jaxtheory\nFIGURES = jaxtheory.theories.load({FIGURES!r}).FIGURES[:1]\n"
    )
    assert main(["run", str(good), "--quick"]) == 0
    assert (
        main(["run", str(good)]) == 1
    )  # now the claim expected to be refuted is decided, and holds


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('"steps": 40', '"stpes": 4', "mine.py: unknown argument 'stpes'; did you mean 'steps'?"),
        ('"steps": 40', '"seeds": 0', "mine.py: seeds = 0"),
        ("{'batch_size': [2, 8, 32]}", "{'size': [2, 8]}", "mine.py: unknown field 'size'"),
        (
            "config=Settings(dimension=100)",
            "config=Settings(noise=-1.0)",
            "mine.py: at batch_size=2: noise",
        ),
        ("at_most(0.3)", "at_most('x')", "at_most: the bound must be a number, got 'x'"),
        (
            "bound=at_most(0.3)",
            "bound=at_most(0.3), q=2",
            "claim T-1: q = 2: must be a number in (0, 1]",
        ),
        ("at_most(0.3)", "0.3", "claim T-1: bound must be at_least(x), at_most(x)"),
        (
            'measure=Measure("|error / closed form - 1| at the end, for each B", gap),',
            "measure=lambda data: {},",
            "claim T-1: measure must return a number",
        ),
        ("    return figure", "    return None", "mine.py: draw returns a NoneType"),
    ],
)
def test_a_fault_of_a_figure_is_told_with_its_file(
    right: str, wrong: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    text = spoilt('"seeds": 32', '"seeds": 8').replace('{"steps": 40}', '{"steps": 4}')
    right = right.replace("'", '"').replace('"steps": 40', '"steps": 4')
    assert right in text
    (folder / "mine.py").write_text(text.replace(right, wrong))
    refused(["run", "mine.py", "--quick"], message, capsys)


EDGE = f"""
import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import between, derived

toy = jaxtheory.theories.load({str(ROOT / "tests" / "helpers" / "quadratic.py")!r})


def draw(found):
    figure, ((ax,),) = plot.panels()
    plot.phases(ax, found, "scale")
    plot.series(ax, found.boundary, "scale")
    return figure


FIGURE = Figure(
    name="edge",
    source="test",
    theory=toy.THEORY,
    config=toy.Config(),
    verb=jaxtheory.boundary,
    sweep={{
        "along": "eta",
        "between": (0.1, 30.0),
        "when": jaxtheory.below("distance", 1.0),
        "over": {{"s": [0.5, 2.0]}},
        "law": lambda problem, config: 2 / problem.curvature,
        "seeds": 8,
        "steps": 5,
    }},
    quick={{"seeds": 2}},
    draw=draw,
    claims=(
        jaxtheory.Claim(
            "T-1",
            origin=derived(),
            statement="The boundary is 2 over the curvature, within 2 %.",
            measure=lambda found: found.boundary / found.law,
            bound=between(0.98, 1.02),
        ),
    ),
)
"""


def test_a_figure_of_boundaries_leaves_what_others_do(folder: Path, capsys) -> None:
    (folder / "mine.py").write_text(EDGE)
    assert main(["run", "mine.py", "--until-decided", "--max-seeds", "8"]) == 0
    printed = capsys.readouterr().out
    assert "within 2 %" in printed
    assert "1 claim: 1 holds; none differs from what is expected" in printed
    (store,) = folder.glob("results/edge-*/data.zarr")
    assert {file.suffix for file in folder.glob("results/edge.*")} >= {".png", ".csv", ".json"}
    assert "The boundary is 2 over" in (folder / "results" / "report.html").read_text()
    assert main(["run", "mine.py"]) == 0  # from the store
    assert main(["export", str(store.parent), "--format", "csv", "--to", "edge.csv"]) == 0
    assert (folder / "edge.csv").read_text().startswith("scale,seed,")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('"along": "eta"', '"along": "etta"', "mine.py: unknown field 'etta'; did you mean 'eta'"),
        ('"over"', '"vary"', "mine.py: unknown argument 'vary'"),
        ("(0.1, 30.0)", "(30.0, 0.1)", "mine.py: between = (30.0, 0.1): low must be less"),
        ("(0.1, 30.0)", "(-1.0, 1.0)", "mine.py: between = (-1.0, 1.0): must be positive"),
        ('below("distance"', 'below("distanc"', "did you mean 'distance'"),
        ("2 / problem.curvature", "problem.curve", "law: AttributeError"),
    ],
)
def test_a_fault_of_a_figure_of_boundaries_is_told(
    right, wrong, message, folder: Path, capsys
) -> None:
    assert right in EDGE
    (folder / "mine.py").write_text(EDGE.replace(right, wrong))
    refused(["run", "mine.py", "--quick"], message, capsys)


def test_a_home_in_a_path_of_run_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    page = (tmp_path / "home" / "kept" / "report.html").as_uri()
    assert main(["run", "walk_phase", "--quick", "--store", "~/kept"]) == 0
    assert capsys.readouterr().out.endswith(f"\npage {page}#walk_phase-quick\n")
    assert main(["report", "~/kept"]) == 0
    assert capsys.readouterr().out == f"page {page}\n"
    assert (tmp_path / "home" / "kept" / "report.html").is_file()
    assert [folder.name for folder in tmp_path.iterdir()] == ["home"]
