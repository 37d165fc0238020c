"""The command line: what it reads, prints, writes and refuses."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.cli.parsing import _parse_axis, _parse_values
from jaxtheory.core.config import Field, Interval

ROOT = Path(__file__).parents[2]
REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)
NUMBER = Field("rate", "eta", "traced", 0.1, Interval.parse("(0, inf)"), "", "", False)
COUNT = NUMBER._replace(integer=True)
CHOICE = Field("clip", "clip", "static", False, (False, True, "soft"), "", "", False)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# values


@pytest.mark.parametrize(
    ("field", "text", "values"),
    [
        (NUMBER, "1,2.5, .5", [1.0, 2.5, 0.5]),
        (NUMBER, "3,", [3.0]),
        (NUMBER, "0:1:11", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (NUMBER, "1:-1:3", [1.0, 0.0, -1.0]),
        (NUMBER, "2:2:1", [2.0]),
        (NUMBER, "log:1e-6:1e-3:4", [1e-6, 1e-5, 1e-4, 1e-3]),
        (NUMBER, "log:1:100:5", [1.0, 10**0.5, 10.0, 10**1.5, 100.0]),
        (NUMBER, "1e9999", [float("inf")]),
        (COUNT, "4:8:3", [4, 6, 8]),
        (COUNT, "log:10:1000:5", [10, 32, 100, 316, 1000]),
        (COUNT, "1e3,2.5", [1000, 2.5]),
        (CHOICE, "true,False,soft", [True, False, "soft"]),
    ],
)
def test_values(field: Field, text: str, values: list) -> None:
    read = _parse_values(field, text)
    assert read == pytest.approx(values, rel=1e-15) if field is not CHOICE else read == values
    assert [type(value) for value in read] == [type(value) for value in values]


def test_the_points_of_a_linear_range_are_the_decimals_written() -> None:
    assert _parse_values(NUMBER, "0:1:11")[3] == 0.3


@pytest.mark.parametrize(
    ("field", "text", "reason"),
    [
        (NUMBER, "", "empty"),
        (NUMBER, ",", "empty"),
        (NUMBER, "1,,2", "not a number"),
        (NUMBER, "one", "'one' is not a number"),
        (NUMBER, "0:1", "a range is a:b:n"),
        (NUMBER, "0:1:0", "[1, inf)"),
        (NUMBER, "0:1:-2", "[1, inf)"),
        (NUMBER, "0:1:2.5", "[1, inf)"),
        (NUMBER, "0:1:1", "leave out one end"),
        (NUMBER, "nan:1:3", "finite"),
        (NUMBER, "log:0:1:3", "positive"),
        (NUMBER, "log:-1:1:3", "positive"),
        (NUMBER, "log:1e-999999:1e999999:3", "too wide"),
        (COUNT, "4:8:4", "not all integers"),
        (CHOICE, "hard", "choose among False, True, soft"),
    ],
)
def test_values_that_cannot_be_read(field: Field, text: str, reason: str) -> None:
    with pytest.raises(jaxtheory.InputError) as error:
        _parse_values(field, text)
    assert field.name in str(error.value)
    assert reason in str(error.value)


def test_axes_go_by_word_or_symbol() -> None:
    theory = jaxtheory.theories.load(REGRESSION).THEORY
    assert (
        _parse_axis(theory, "d=2,4")
        == _parse_axis(theory, "dimension=2,4")
        == ("dimension", [2, 4])
    )
    assert _parse_axis(theory, "steps=5,10") == ("steps", [5, 10])
    assert _parse_axis(theory, "algorithm=sgd") == ("algorithm", ["sgd"])


# refusals: exit code 2, a few lines that name the culprit, nothing written

SWEEPS = [
    ("random_walks --steps 3", "random_walk"),
    (f"{REGRESSION} --vary foo=1,2 --steps 3", "foo"),
    (f"{REGRESSION} --vary dimensions=1,2 --steps 3", "did you mean 'dimension'"),
    (f"{REGRESSION} --vary d --steps 3", "NAME=VALUES"),
    (f"{REGRESSION} --vary d= --steps 3", "dimension (d)"),
    (f"{REGRESSION} --vary d=two --steps 3", "'two' is not a number"),
    (f"{REGRESSION} --vary d=2 --vary dimension=3 --steps 3", "dimension: given twice"),
    (f"{REGRESSION} --vary d=2 --zip d=3 --steps 3", "dimension"),
    (f"{REGRESSION} --vary d=2,2 --steps 3", "dimension"),
    (f"{REGRESSION} --vary d=2.5 --steps 3", "dimension (d) = 2.5: must be an integer in [1, inf)"),
    (f"{REGRESSION} --vary d=1:4:0 --steps 3", "dimension (d)"),
    (
        f"{REGRESSION} --vary eta=-1 --steps 3",
        "learning_rate (eta) = -1.0: must be a number in (0, inf)",
    ),
    (f"{REGRESSION} --vary eta=nan --steps 3", "learning_rate (eta) = nan"),
    (f"{REGRESSION} --vary eta=log:0:1:3 --steps 3", "learning_rate (eta)"),
    (
        f"{REGRESSION} --set eta=0 --steps 3",
        "learning_rate (eta) = 0.0: must be a number in (0, inf)",
    ),
    (f"{REGRESSION} --set eta=1,2 --steps 3", "learning_rate"),
    (f"{REGRESSION} --set steps=3", "--steps"),
    (f"{REGRESSION} --zip eta=1,2 --zip sigma=1 --zip d= --steps 3", "dimension (d)"),
    (f"{REGRESSION} --vary d=2", "steps"),
    (f"{REGRESSION} --steps -1", "steps = -1"),
    (f"{REGRESSION} --steps x", "--steps"),
    (f"{REGRESSION} --vary steps=3,-1", "steps = -1"),
    (f"{REGRESSION} --steps 3 --seeds 0", "seeds = 0"),
    (f"{REGRESSION} --steps 3 --seeds -2", "seeds = -2"),
    (f"{REGRESSION} --steps 3 --seeds 1.5", "seeds = 1.5"),
    (f"{REGRESSION} --steps 3 --seeds 3,3", "seeds = [3, 3]"),
    (f"{REGRESSION} --steps 3 --seeds some", "seeds"),
    (f"{REGRESSION} --steps 3 --record 0", "record"),
    (f"{REGRESSION} --steps 3 --record 0,9", "record"),
    (f"{REGRESSION} --steps 3 --record 1 --record 2", "record"),
    (f"{REGRESSION} --steps 3 --record lose=0,3", "lose"),
    (f"{REGRESSION} --steps 3 --algorithm adam", "'adam'"),
    (f"{REGRESSION} --vary algorithm=adam --steps 3", "'adam'"),
    (f"{REGRESSION} --steps 3 --dtype float16", "float16"),
    (f"{REGRESSION} --steps 3 --buckets none", "none"),
    (f"{REGRESSION} --steps 3 --key x", "--key"),
    ("missing.py --steps 3", "missing.py: no such file"),
    ("random_walk --vary N=1 --steps 3", "length (N) = 1: must be an integer in [2, inf)"),
    (
        "random_walk --vary p=-.1,.5 --steps 3",
        "clockwise_probability (p) = -0.1: must be a number in [0, 1]",
    ),
    ("random_walk --vary p=1.5 --steps 3", "clockwise_probability (p) = 1.5"),
    ("random_walk --set K=2 --steps 3", "num_states (K) = 2: must be an integer in [3, inf)"),
    (
        "random_walk --set ell=cross --steps 3",
        "loss_function (ell) = 'cross': choose among log, square, hinge",
    ),
    ("random_walk --set M=50 --steps 3", "encoding_dim"),
    (
        "attention_pruning --vary rho=1 --steps 3",
        "pruning_ratio (rho) = 1.0: must be a number in [0, 1)",
    ),
    (
        "attention_pruning --set lambda=0 --steps 3",
        "regularization (lambda) = 0.0: must be a number in (0, inf)",
    ),
    ("attention_pruning --set L=0 --steps 3", "length (L) = 0: must be an integer in [1, inf)"),
]


@pytest.mark.parametrize(
    ("words", "named"), SWEEPS, ids=[words.removeprefix(REGRESSION) for words, _ in SWEEPS]
)
@pytest.mark.parametrize("command", ["sweep", "plan"])
def test_bad_sweeps_are_refused(
    command: str, words: str, named: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main([command, *words.split()]) == 2
    output = capsys.readouterr()
    assert named in output.out + output.err
    assert "Traceback" not in output.err
    assert list(here.iterdir()) == []


def test_uneven_zips_are_refused(here: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["sweep", REGRESSION, "--steps", "3", "--zip", "d=1,2 eta=.1,.2,.3"]) == 2
    assert "dimension has 2 values, learning_rate has 3" in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["show", "nothing"], "nothing"),
        (["run", "nothing"], "nothing"),
        (["run", REGRESSION], "FIGURE"),
        (["verify", "nothing"], "nothing"),
        (["verify", REGRESSION, "--seeds", "0"], "seeds"),
        (["frobnicate"], "frobnicate"),
        (["run"], "NAME"),
        ([], "Missing subcommand"),
    ],
    ids=["show", "run", "run file", "verify", "verify seeds", "unknown", "no name", "nothing"],
)
def test_bad_commands_are_refused(
    words: list[str], named: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(words) == 2
    output = capsys.readouterr()
    assert named in output.out + output.err
    assert list(here.iterdir()) == []


REPLACED = "from jaxtheory.cli.template import THEORY\nTHEORY = THEORY._replace({})\n"
FAILING = """import jax
from jaxtheory import Check
from jaxtheory.cli.template import THEORY

def loss(params, batch, problem, config):
    return params.weights @ batch.inputs

def check(key, config):
    return {}

THEORY = THEORY._replace({})
"""


@pytest.mark.parametrize(
    ("check", "replaced", "named"),
    [
        ("1", "loss=loss", "template.loss: TypeError: dot_general requires contracting"),
        ("1", "loss=loss", "(mine.py, line 6)"),
        ("key", "checks=(Check('f: x', '', 'equal', check),)", "check 'f: x' gives a "),
        ("1.0, 2.0", "checks=(Check('f: x', '', 'sample', check),)", "(got, want, standard error)"),
        ("(1.0, 2.0), (1.0,)", "checks=(Check('f: x', '', 'equal', check),)", "[2, 1] arrays"),
        ("config.nothing", "checks=(Check('f: x', '', 'equal', check),)", "no attribute 'nothing'"),
    ],
)
def test_a_theory_that_fails_is_told_of_in_one_line(
    check: str, replaced: str, named: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(FAILING.format(check, replaced))
    assert main(["verify", "mine.py"]) == 2
    errors = capsys.readouterr().err
    assert named in errors and len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    "command", ["sweep mine.py --steps 2", "plan mine.py --steps 2 --compile", "verify mine.py"]
)
def test_a_mistake_in_a_theory_shows_no_traceback(
    command: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(
        FAILING.format("1", "metrics=lambda params, problem, config: {'error': loss.nothing}")
    )
    assert main(command.split()) == 2
    errors = capsys.readouterr().err
    assert "AttributeError: 'function' object has no attribute 'nothing'" in errors
    assert "(mine.py, line 11)" in errors and len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("FIGURE = 3\n", "mine.py: a int, expected a jaxtheory.Figure"),
        ("FIGURES = 3\n", "FIGURES is a int, expected a tuple"),
        ("FIGURES = (3,)\n", "mine.py: a int, expected a jaxtheory.Figure"),
        ("FIGURES = ()\n", "defines no FIGURE"),
    ],
)
def test_bad_figure_files_are_refused(
    source: str, named: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(source)
    assert main(["run", "mine.py"]) == 2
    errors = capsys.readouterr().err
    assert named in errors and len(errors.splitlines()) == 1


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
    source: str, named: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    file = here / "mine.py"
    file.write_text(source)
    for command in (
        ["sweep", str(file), "--steps", "3"],
        ["verify", str(file)],
        ["show", str(file)],
    ):
        assert main(command) == 2
        assert named in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == ["mine.py"]


@pytest.mark.parametrize("store", ["taken", "taken/below"])
def test_a_store_that_cannot_be_written_is_refused(
    store: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "taken").write_text("a file")
    for command in (["sweep", REGRESSION, "--steps", "3"], ["run", FIGURES]):
        assert main([*command, "--store", store]) == 2
        assert "taken" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["taken"]


# what works


def test_sweep_writes_a_labeled_dataset_and_resumes(
    here: Path, capsys: pytest.CaptureFixture
) -> None:
    words = [
        "sweep",
        REGRESSION,
        "--vary",
        "d=2,4",
        "--zip",
        "eta=.1,.2 sigma=0,1",
        "--seeds",
        "3,5",
        "--steps",
        "4",
        "--record",
        "0,4",
    ]
    assert main(words) == 0
    (store,) = (here / "results").iterdir()
    printed = capsys.readouterr()
    assert str(store.relative_to(here)) in printed.out
    assert "diverged  " not in printed.out
    assert printed.err == ""
    data = xr.open_zarr(store / "data.zarr")
    assert dict(data.loss.sizes) == {"dimension": 2, "learning_rate": 2, "seed": 2, "step": 2}
    assert data.seed.values.tolist() == [3, 5]
    assert data.noise.values.tolist() == [0, 1]
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()} == before


def test_the_default_store_is_named_by_the_request_and_the_theory(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = []

    def remember(*args: object, store: Path, **options: object) -> xr.Dataset:
        stores.append(store)
        return xr.Dataset({"diverged_at": -1})

    monkeypatch.setattr(jaxtheory, "sweep", remember, raising=False)
    for words in (
        "--set d=2",
        "--set dimension=2",
        "--set d=3",
        "--set d=2 --key 1",
        "--set d=2 --seeds 2",
    ):
        assert main(["sweep", REGRESSION, "--steps", "2", *words.split()]) == 0
    assert stores[0] == stores[1]
    assert len(set(stores)) == 4
    edited = here / "edited.py"
    for text in (
        "",
        "# a comment\n",
        "_old = THEORY.coords\nTHEORY = THEORY._replace(coords=lambda config: "
        "dict(_old(config)))\n",
    ):
        edited.write_text(Path(REGRESSION).read_text() + text)
        assert main(["sweep", str(edited), "--steps", "2"]) == 0
    assert stores[-3] == stores[-2] != stores[-1] and len(set(stores)) == 6
    assert all(
        store.parent == Path("results") and store.name.startswith("linear_regression-")
        for store in stores
    )


def test_diverged_runs_are_counted(capsys: pytest.CaptureFixture) -> None:
    assert main(["sweep", REGRESSION, "--set", "eta=1e30", "--steps", "40", "--seeds", "2"]) == 0
    assert "diverged  2 of 2 runs" in capsys.readouterr().out


def test_plan_counts_and_writes_nothing(here: Path, capsys: pytest.CaptureFixture) -> None:
    assert (
        main(
            [
                "plan",
                REGRESSION,
                "--vary",
                "d=2,4",
                "--vary",
                "eta=.1,.2,.3",
                "--vary",
                "steps=5,9",
                "--buckets",
                "pad",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "points       12" in printed
    assert "compilations 1" in printed
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_verify_passes(capsys: pytest.CaptureFixture) -> None:
    assert main(["verify", REGRESSION]) == 0
    assert "21 of 21 checks passed" in capsys.readouterr().out


def test_verify_fails(here: Path, capsys: pytest.CaptureFixture) -> None:
    wrong = here / "wrong.py"
    wrong.write_text(
        Path(REGRESSION)
        .read_text()
        .replace("/ (2 * config.batch_size.real)", "/ config.batch_size.real")
    )
    assert main(["verify", str(wrong)]) == 1
    assert "19 of 21 checks passed" in capsys.readouterr().out


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


@pytest.mark.parametrize("name", jaxtheory.theories.names())
def test_show_names_every_field(name: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["show", name]) == 0
    printed = capsys.readouterr().out
    theory = jaxtheory.theories.get(name)
    assert all(word in printed for word in theory.Config.__dataclass_fields__)
    assert all(algorithm in printed for algorithm in theory.algorithms)


def test_show_takes_a_file(capsys: pytest.CaptureFixture) -> None:
    assert main(["show", REGRESSION]) == 0
    printed = capsys.readouterr().out
    assert "Online linear regression" in printed
    assert "loss                 |w - w*|^2/2 + sigma^2/2" in printed and "weights(coord" in printed


def test_list_and_doctor(here: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(
        name in printed for name in (*jaxtheory.theories.names(), *jaxtheory.figures.entries())
    )
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert all(
        word in printed for word in ("jaxlib", "side by side", "compilation cache", "writable")
    )
    assert list(here.iterdir()) == []


def test_new_writes_a_theory_that_verifies_and_runs(
    here: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["new", "my_theory"]) == 0
    assert "jaxtheory verify my_theory.py" in capsys.readouterr().out
    assert main(["verify", "my_theory.py", "--seeds", "2"]) == 0
    assert "21 of 21 checks passed" in capsys.readouterr().out
    assert main(["run", "my_theory.py", "--quick", "--store", "out"]) == 0
    assert (here / "out" / "my_theory-quick.png").is_file()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my_theory", "my_theory: there is such a theory or file; choose another"),
        ("low_rank", "choose another"),
        ("mean", "choose another"),
        ("no-name", "a Python name"),
        ("lambda", "a Python name"),
        ("", "a Python name"),
        ("folder/name", "a Python name"),
        ("my_theory.py", "a Python name"),
        ("numpy", "there is such a module, which numpy.py would hide"),
    ],
)
@pytest.mark.usefixtures("strangers")
def test_new_refuses_a_name(
    name: str, words: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "my_theory.py").write_text("mine")
    before = sorted(here.iterdir())
    assert main(["new", name]) == 2
    errors = capsys.readouterr().err
    assert words in errors and len(errors.splitlines()) == 1
    assert sorted(here.iterdir()) == before and (here / "my_theory.py").read_text() == "mine"


ENTRY_POINTS = """[jaxtheory.theories]
mean = strangers.mean:THEORY
sad = strangers.absent:THEORY
number = strangers.odd:NUMBER
lost = strangers.mean:NOTHING
quits = strangers.quits:THEORY

[jaxtheory.figures]
mean_figure = strangers.mean:FIGURE
sad_figure = strangers.absent:FIGURE
number_figure = strangers.odd:NUMBER
theory_figure = strangers.mean:THEORY
"""


@pytest.fixture
def strangers(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a theory and its figure, and a theory whose module is missing."""
    package, about = here / "strangers", here / "strangers-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    template = (Path(jaxtheory.__file__).parent / "cli" / "template.py").read_text()
    (package / "__init__.py").write_text("")
    (package / "odd.py").write_text("NUMBER = 3")
    (package / "quits.py").write_text("import sys\nsys.exit('two\\nlines')")
    (package / "mean.py").write_text(template.replace('"template"', '"mean"'))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(here)


@pytest.mark.usefixtures("strangers")
def test_theories_and_figures_of_other_packages(
    here: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: " ".join(row[1:]) for row in rows if row}
    assert found["mean"] == "strangers How fast does SGD find the mean of a Gaussian?"
    assert found["sad"].startswith("strangers broken: sad of strangers: ModuleNotFoundError: No")
    assert found["mean_figure"].startswith("strangers How fast")
    assert main(["run", "mean_figure", "--quick", "--store", "out"]) == 0
    assert main(["sweep", "mean", "--steps", "2", "--store", "swept"]) == 0
    capsys.readouterr()
    assert main(["show", "mean"]) == 0
    assert "learning_rate" in capsys.readouterr().out
    capsys.readouterr()


@pytest.mark.usefixtures("strangers")
def test_broken_entry_points_are_told_of_in_one_line(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(f"broken: {name} of strangers: {words}" in printed for name, words in broken.items())


def test_an_interruption_says_how_to_resume(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(jaxtheory, "sweep", interrupted, raising=False)
    assert main(["sweep", REGRESSION, "--zip", "d=1,2 eta=1,2", "--steps", "3"]) == 130
    assert (
        f"jaxtheory sweep {REGRESSION} --zip 'd=1,2 eta=1,2' --steps 3" in capsys.readouterr().err
    )


def test_a_full_disk_is_told_of_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "drawing.png")

    monkeypatch.setattr(jaxtheory, "sweep", full, raising=False)
    assert main(["sweep", REGRESSION, "--steps", "3"]) == 2
    said = "OSError: [Errno 28] No space left on device: 'drawing.png'"
    assert capsys.readouterr().err.strip().partition(" (")[0] == said


# as a process of its own


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


HEEDING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from "
    "jaxtheory.cli.main import entry; entry()"
)


def jaxtheory_process(*words: str) -> subprocess.Popen:
    """The command line in a process that heeds SIGINT, which is ignored where the tests run in the
    background.
    """
    command = [sys.executable, "-c", HEEDING, *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def test_help_loads_no_jax() -> None:
    code = (
        "import sys; from jaxtheory.cli.main import main; main(['sweep', '--help']); "
        "sys.exit(bool({'jax', 'xarray', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0


def test_a_mistake_shows_no_traceback(here: Path) -> None:
    process = jaxtheory_process("sweep", "random_walk", "--vary", "p=2", "--steps", "3")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "clockwise_probability (p) = 2.0" in errors
    assert len(errors.splitlines()) <= 4
    assert list(here.iterdir()) == []


def test_ctrl_c_leaves_a_store_that_resumes(here: Path) -> None:
    axes = "--vary d=2,4 --vary eta=log:1e-4:1e-1:8 --steps 5000 --seeds 4"
    words = ("sweep", REGRESSION, *axes.split(), "--store", "kept")
    process = jaxtheory_process(*words)
    while not (here / "kept" / "manifest.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "resume with: jaxtheory sweep" in errors
    assert "Traceback" not in errors
    assert not (here / "kept" / "data.zarr").exists()
    again = jaxtheory_process(*words)
    output, errors = again.communicate(timeout=240)
    assert again.returncode == 0, errors
    assert "store     kept" in output
    assert (here / "kept" / "data.zarr").is_dir()
