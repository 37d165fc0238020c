"""`jaxtheory run` of a figure with other axes, seeds or steps."""

import json
from pathlib import Path

import pytest
import xarray as xr

import jaxtheory
from jaxtheory import plot
from jaxtheory.claims import arguments
from jaxtheory.cli.changed import Changes
from jaxtheory.cli.main import main

TEMPLATE = (Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py").read_text()
PHASE, RATE, STEP = map(jaxtheory.figures.get, ("walk_phase", "walk_rate", "bigram_step"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def apply(figure, quick=False, **changes):
    return arguments(Changes(**changes).apply(figure, quick), quick)[1]


def test_axes_are_replaced_by_field_or_symbol_and_added():
    before = arguments(PHASE, False)[1]
    options = apply(PHASE, vary=("p=0.5,0.7", "eta=0.1,1"))
    assert options["vary"] == {"clockwise_probability": [0.5, 0.7], "learning_rate": [0.1, 1.0]}
    assert options["zip"] == [before["zip"]] and options["steps"] == before["steps"] == 50
    options = apply(PHASE, quick=True, vary=("p=0.5",), seeds="3,5")
    assert options["seeds"] == [3, 5] and options["buckets"] == "pad"
    assert [*options["zip"][0]["num_states"]] == [6, 20]  # of the quick form


def test_fields_that_vary_together_are_replaced_together():
    options = apply(PHASE, zip=("K=4,6 N=9,11",))
    assert options["zip"] == [{"num_states": [4, 6], "length": [9, 11]}]
    assert apply(PHASE, zip=("p=0.1,0.2 eta=1,2",))["vary"] == {}
    with pytest.raises(jaxtheory.InputError) as caught:
        apply(PHASE, vary=("K=4,6",))
    assert "varies together with length in walk_phase" in str(caught.value)
    advice = str(caught.value).partition('--zip "')[2].rstrip('"')
    assert apply(PHASE, zip=(advice,))["zip"] == [{"num_states": [3], "length": [97]}]


@pytest.mark.parametrize(
    ("steps", "record"), [("20", [0, 1, 2, 3, 5, 10, 20]), ("600", [*RATE.sweep["record"], 600])]
)
def test_records_end_at_the_last_step(steps, record):
    options = apply(RATE, steps=steps)
    assert options["steps"] == int(steps) and options["record"] == record
    assert apply(RATE, vary=("steps=10,20",))["record"] == [0, 1, 2, 3, 5, 10, 20]
    figure = RATE._replace(sweep=RATE.sweep | {"record": {"loss": 50, "accuracy": [0, 300]}})
    assert apply(figure, steps="20")["record"] == {"loss": 20, "accuracy": [0, 20]}


def test_a_search_for_boundaries_has_other_points():
    options = apply(STEP, vary=("B=8,32",), steps="20")
    assert options["over"] == STEP.sweep["over"] | {"batch_size": [8, 32]}
    assert options["steps"] == 20
    assert "zip" not in options and "vary" not in options


def test_nothing_is_expected_of_claims_on_other_axes():
    for changes, same in (
        ({"seeds": "12"}, True),
        ({"steps": "20"}, False),
        ({"vary": ("p=.5",)}, False),
    ):
        figure = Changes(**changes).apply(PHASE, False)
        assert (figure.claims == PHASE.claims) is same is (figure.draw is PHASE.draw)
        assert same or {(c.expect, c.panel) for c in figure.claims} == {(None, None)}


@pytest.mark.parametrize(
    ("figure", "changes", "message"),
    [
        ("walk_phase", {"vary": ("q=1",)}, "unknown field 'q'"),
        (
            "walk_phase",
            {"vary": ("seed=1",)},
            "--vary seed=1: 'seed' is not a field; use --seeds 1,",
        ),
        ("walk_phase", {"steps": "3,4"}, "use --vary steps=3,4 for several"),
        (
            "bigram_step",
            {"zip": ("B=1 T=2",)},
            "--zip: bigram_step searches boundaries; use --vary",
        ),
        ("network_walk", {"vary": ("p=1",)}, "jaxtheory new NAME --from network_walk"),
        ("llama_assumptions", {"steps": "3"}, ""),
    ],
)
def test_what_cannot_be_changed_is_one_line(figure, changes, message):
    figure = jaxtheory.figures.get(figure)
    if not message:
        assert apply(figure, **changes)["steps"] == 3
        return
    with pytest.raises(jaxtheory.InputError) as caught:
        apply(figure, **changes)
    assert message in str(caught.value) and "\n" not in str(caught.value)


FILE = TEMPLATE.replace('"seeds": 128, "steps": 60', '"seeds": 8, "steps": 6').replace(
    "    claims=(\n",
    """    claims=(
        Claim(
            "T-2",
            origin=derived(),
            statement="At B = 32 the error ends below 1.",
            measure=lambda data: last(data.error).sel(batch_size=32),
            bound=at_most(1.0),
        ),
""",
)


@pytest.mark.slow
def test_claims_are_judged_where_they_still_can_be(folder, capsys):
    (folder / "mine.py").write_text(FILE.replace('name="template"', 'name="mine"'))
    words = ["--vary", "B=2,4", "--steps", "4", "--store", "out"]
    assert main(["run", "mine.py", *words]) == 0
    printed = capsys.readouterr().out
    assert "T-2 – not judged" in printed
    assert "\nT-2 not judged: the axes lack what it measures (KeyError: " in printed
    assert "holds (open)" in printed or "undecided" in printed
    assert "nothing is expected of its claims" in printed
    (file,) = folder.glob("out/mine-*.json")
    record = json.loads(file.read_text())
    assert record["changes"] == "--vary B=2,4 --steps 4"
    assert record["command"] == f"jaxtheory run mine.py {record['changes']}"
    data = xr.open_zarr(Path(record["store"]) / "data.zarr")
    assert data.batch_size.values.tolist() == [2, 4] and data.step.values[-1] == 4
    assert file.with_suffix(".png").is_file()
    assert f"mine ({record['changes']})" in (folder / "out" / "report.html").read_text()
    assert main(["run", "mine.py", "--store", "out"]) in (0, 1)  # the figure's own files are apart
    assert {path.stem for path in folder.glob("out/*.json")} == {file.stem, "mine"}
    assert main(["run", "mine.py", *words, "--key", "3"]) == 0
    assert len([*folder.glob("out/mine-key3-*.png")]) == 1


@pytest.mark.slow
def test_a_claim_of_an_unchanged_figure_that_fits_no_axis_is_a_fault(folder, capsys):
    (folder / "mine.py").write_text(FILE.replace("[2, 8, 32]", "[2, 8]"))
    assert main(["run", "mine.py", "--store", "out"]) == 1
    assert "T-2 not judged: the axes lack" in capsys.readouterr().out
    assert (folder / "out" / "template.png").is_file()


@pytest.mark.slow
def test_a_drawing_that_does_not_take_the_axes_is_a_general_one(folder, capsys):
    """With a further axis the template's `draw` fails, which takes one dimension."""
    (folder / "mine.py").write_text(FILE)
    assert (
        main(["run", "mine.py", "--vary", "sigma=0.5,1", "--paper", "column", "--store", "out"])
        == 0
    )
    (caption,) = folder.glob("out/*-column.txt")
    text = " ".join(caption.read_text().split())
    assert "Drawn with --vary sigma=0.5,1, which the drawing of template does not take" in text
    assert main(["run", "mine.py", "--vary", "B=2,4", "--paper", "column", "--store", "two"]) == 0
    (caption,) = folder.glob("two/*-column.txt")
    text = " ".join(caption.read_text().split())
    assert "Drawn with --vary B=2,4; the title is that of template without." in text


def test_a_drawing_of_a_search_that_does_not_take_the_axes_says_so():
    def draw(data):
        raise KeyError("x")

    figure = Changes(steps="3").apply(STEP._replace(draw=draw), False)
    with pytest.raises(jaxtheory.InputError, match="its drawing does not take these axes"):
        figure.draw(xr.Dataset())


def test_changes_are_of_one_figure(capsys):
    assert main(["run", "random_walk", "--seeds", "2"]) == 2
    assert "--seeds: changes one figure, and random_walk has" in capsys.readouterr().err


def test_a_remark_that_is_made_twice_is_said_once():
    figure, _ = plot.panels()
    plot.remark(figure, "Once.")
    plot.remark(figure, "Once.")
    assert plot.caption(figure) == "Once."


def test_the_large_form_of_a_figure_is_its_own(capsys):
    ladder = jaxtheory.figures.get("network_walk")
    options = apply(ladder, large=True, seeds="2")
    assert options == ladder.sweep | ladder.large | {"seeds": 2}
    assert (options["width"], options["size"], options["long"]) == (128, (4, 8), True)
    changed = Changes(large=True)
    assert changed.words == ["--large"] and changed.moves
    assert main(["run", "walk_phase", "--large"]) == 2
    assert "--large: walk_phase has no large form" in capsys.readouterr().err
    assert main(["run", "network_walk", "--large", "--quick"]) == 2
    assert "exclude each other" in capsys.readouterr().err
