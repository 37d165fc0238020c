"""`jaxtheory run`: verdicts and drawings of figures, and files that are refused."""

from pathlib import Path

import pytest
from helpers.spoilt import refused, spoilt

from jaxtheory.cli.main import main

ROOT = Path(__file__).parents[2]

REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    source: str, named: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(source)
    assert main(["run", "mine.py"]) == 2
    errors = capsys.readouterr().err
    assert named in errors and len(errors.splitlines()) == 1


def test_run_judges_and_draws(here: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["run", FIGURES, "--quick", "--store", "out"]) == 1
    printed = capsys.readouterr().out
    assert "not tested (n=2 < 3)" in printed
    assert "as expected" in printed
    assert "differs" in printed
    assert (here / "out" / "good-quick.png").read_bytes().startswith(b"\x89PNG")
    assert (here / "out" / "bad-quick.png").exists()


def test_an_open_or_untested_claim_does_not_fail(here: Path) -> None:
    good = here / "good.py"
    good.write_text(
        f"import jaxtheory\nFIGURES = jaxtheory.theories.load({FIGURES!r}).FIGURES[:1]\n"
    )
    assert main(["run", str(good), "--quick"]) == 0
    assert (
        main(["run", str(good)]) == 1
    )  # now the claim expected to be refuted is tested, and holds


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"steps": 40', '"stpes": 4', "mine.py: unknown argument 'stpes'; did you mean 'steps'?"),
        ('"steps": 40', '"seeds": 0', "mine.py: seeds = 0"),
        ("{'batch_size': [2, 8, 32]}", "{'size': [2, 8]}", "mine.py: unknown field 'size'"),
        ("config=Settings()", "config=Settings(noise=-1.0)", "mine.py: at batch_size=2: noise"),
        ("at_most(0.3)", "at_most('x')", "at_most: the bound must be a number, got 'x'"),
        (
            "bound=at_most(0.3)",
            "bound=at_most(0.3), statistic='man'",
            "claim T-1: statistic = 'man'; did you",
        ),
        ("at_most(0.3)", "0.3", "claim T-1: bound must be at_least(x), at_most(x)"),
        (
            "measure=gap,",
            "measure=lambda data: 3.0,",
            "claim T-1: measure must return an xarray.DataArray",
        ),
        ("    return figure", "    return None", "mine.py: draw returns a NoneType"),
    ],
)
def test_a_fault_of_a_figure_is_told_with_its_file(
    right: str, wrong: str, said: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    few = spoilt('"seeds": 64', '"seeds": 8').replace('{"steps": 40}', '{"steps": 4}')
    right = right.replace("'", '"').replace('"steps": 40', '"steps": 4')
    assert right in few
    (here / "mine.py").write_text(few.replace(right, wrong))
    refused(["run", "mine.py", "--quick"], said, capsys)


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
        "seeds": 4,
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
            minimum=2,
        ),
    ),
)
"""


def test_a_figure_of_boundaries_leaves_what_others_do(here: Path, capsys) -> None:
    (here / "mine.py").write_text(EDGE)
    assert main(["run", "mine.py", "--until-decided", "--max-seeds", "8"]) == 0
    printed = capsys.readouterr().out
    assert "as expected" in printed and "within 2 %" in printed
    (store,) = here.glob("results/edge-*/data.zarr")
    assert {file.suffix for file in here.glob("results/edge.*")} >= {".png", ".csv", ".json"}
    assert "The boundary is 2 over" in (here / "results" / "report.html").read_text()
    assert main(["run", "mine.py"]) == 0  # from the store
    assert main(["export", str(store.parent), "--to", "csv", "--out", "edge.csv"]) == 0
    assert (here / "edge.csv").read_text().startswith("scale,seed,")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"along": "eta"', '"along": "etta"', "mine.py: unknown field 'etta'; did you mean 'eta'"),
        ('"over"', '"vary"', "mine.py: unknown argument 'vary'"),
        ("(0.1, 30.0)", "(30.0, 0.1)", "mine.py: between = (30.0, 0.1): low must be less"),
        ("(0.1, 30.0)", "(-1.0, 1.0)", "mine.py: between = (-1.0, 1.0): must be positive"),
        ('below("distance"', 'below("distanc"', "did you mean 'distance'"),
        ("2 / problem.curvature", "problem.curve", "law: AttributeError"),
    ],
)
def test_a_fault_of_a_figure_of_boundaries_is_told(right, wrong, said, here: Path, capsys) -> None:
    assert right in EDGE
    (here / "mine.py").write_text(EDGE.replace(right, wrong))
    refused(["run", "mine.py", "--quick"], said, capsys)


def test_a_home_in_a_path_of_run_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "walk_phase", "--quick", "--store", "~/kept"]) == 0
    assert main(["report", "~/kept"]) == 0
    assert (tmp_path / "home" / "kept" / "report.html").is_file()
    assert [folder.name for folder in tmp_path.iterdir()] == ["home"]
