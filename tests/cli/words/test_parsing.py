"""Words of the command line: values, axes, and `--data FILE.npz` with your own arrays."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.spoilt import spoilt

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.cli.words.parsing import _parse_values, parse_axes
from jaxtheory.core.fields import Field, Interval
from jaxtheory.theories import get

RANDOM = np.random.default_rng(0)
WALKS = {"sequences": RANDOM.integers(0, 5, (12, 6)), "labels": RANDOM.integers(0, 5, 12)}
SWEEP = ["sweep", "random_walk", "--steps", "3", "--dtype", "float64", "--store", "store"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(**arrays: object) -> None:
    np.savez("own.npz", **arrays)


def test_a_sweep_on_arrays_is_that_of_given(folder: Path) -> None:
    save(**WALKS, encoding_dim=9)
    assert main([*SWEEP, "--data", "own.npz", "--vary", "eta=.1,.5", "--set", "eps=.2"]) == 0
    theory = get("random_walk")
    problem, _, config = theory.given(**WALKS, encoding_dim=9, epsilon=0.2)
    want = jaxtheory.sweep(
        theory, config, vary={"eta": [0.1, 0.5]}, steps=3, dtype="float64", problem=problem
    )
    with xr.open_zarr(folder / "store" / "data.zarr") as data:
        np.testing.assert_array_equal(data.loss, want.loss)


BAD = [
    ({}, ["--data", "none.npz"], "none.npz: not an .npz file of arrays (No such file"),
    ({"labels": WALKS["labels"]}, ["--data", "own.npz"], "random_walk needs sequences"),
    (WALKS | {"colors": np.ones(3)}, ["--data", "own.npz"], "unknown field 'colors'"),
    (WALKS | {"labels": np.ones(12)}, ["--data", "own.npz"], "expected integers"),
    (
        WALKS | {"labels": np.array([{}])},
        ["--data", "own.npz"],
        "holds Python objects, which are not loaded",
    ),
    (WALKS, ["--data", "own.npz", "--set", "N=9"], "length (N) = 9: the arrays have 7"),
    (
        WALKS,
        ["--data", "own.npz", "--vary", "p=.1,.2"],
        "clockwise_probability (p): cannot be varied",
    ),
    (
        WALKS | {"p": 0.5},
        ["--data", "own.npz", "--set", "p=.1"],
        "clockwise_probability (p): given twice",
    ),
]


@pytest.mark.parametrize(("arrays", "words", "message"), BAD)
def test_what_does_not_fit_is_one_line(
    arrays: dict, words: list, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    if arrays:
        save(**arrays)
    assert main([*SWEEP, *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1
    assert not (folder / "store").exists()


def test_a_theory_without_given_says_so(capsys: pytest.CaptureFixture) -> None:
    file = Path(__file__).parents[3] / "docs" / "examples" / "linear_regression.py"
    save(**WALKS)
    assert main(["plan", str(file), "--steps", "1", "--data", "own.npz"]) == 2
    assert "accepts no data" in capsys.readouterr().err


FILES = {
    "text": (b"sequences,labels\n1,2\n", "write one with numpy.savez"),
    "empty": (b"", "it is empty"),
    "archive": (b"PK\x05\x06" + bytes(18), "holds nothing: random_walk needs sequences, labels"),
    "npy": (b"\x93NUMPY\x01\x00", "write an .npz file with numpy.savez"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_file_than_npz_is_one_line(
    name: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    data, said = FILES[name]
    (folder / "own.npz").write_bytes(data)
    assert main([*SWEEP, "--data", "own.npz"]) == 2
    errors = capsys.readouterr().err
    assert said in errors and errors.count("\n") == 1 and "allow_pickle" not in errors
    assert not (folder / "store").exists()


@pytest.mark.parametrize("cut", [10, 300, -1])
def test_a_damaged_npz_is_one_line(cut: int, folder: Path, capsys: pytest.CaptureFixture) -> None:
    save(**WALKS)
    (folder / "own.npz").write_bytes((folder / "own.npz").read_bytes()[:cut])
    assert main([*SWEEP, "--data", "own.npz"]) == 2
    errors = capsys.readouterr().err
    assert "own.npz: not an .npz file of arrays" in errors and errors.count("\n") == 1


TOKENS, LABELS = np.random.default_rng(0).normal(size=(6, 4, 5)), np.arange(6) % 2
START = [np.eye(5)] * 3 + [np.ones((4, 5))]


def test_a_field_with_the_name_of_an_array_can_be_set_beside_a_file(tmp_path, capsys):
    from jaxtheory.cli.main import main

    np.savez(
        tmp_path / "mine.npz",
        tokens=TOKENS,
        labels=LABELS,
        output=START[3],
        query=START[0],
        key=START[1],
        value=START[2],
    )
    words = ["plan", "low_rank", "--steps", "1", "--data", str(tmp_path / "mine.npz")]
    assert main([*words, "--set", "output=per_token"]) == 0
    assert main([*words, "--set", "output=nothing"]) == 2
    assert "output" in capsys.readouterr().err


ROOT = Path(__file__).parents[3]

REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)

NUMBER = Field("rate", "eta", "traced", 0.1, Interval.parse("(0, inf)"), "", "", False)
COUNT = NUMBER._replace(integer=True)
CHOICE = Field("clip", "clip", "static", False, (False, True, "soft"), "", "", False)


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
        (NUMBER, "0:1", "a range must be a:b:n"),
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
    parsed = lambda *texts: parse_axes(theory, "--vary", texts)
    assert parsed("d=2,4") == parsed("dimension=2,4") == {"dimension": [2, 4]}
    assert parsed("steps=5,10", "algorithm=sgd") == {"steps": [5, 10], "algorithm": ["sgd"]}


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("--set d=", "--set d=10"),
        ("--set d=5,6", "--vary d=5,6"),
        ("--set algorithm=sgd", "--algorithm sgd"),
        ("--set steps=3", "--steps 3"),
        ("--set seed=3", "--seeds 3,"),
        ("--vary seeds=2", "--seeds 2"),
        ("--vary key=2", "--key 2"),
        ("--set dtype=float64", "--dtype float64"),
        ("--set D=5", "--set d=5"),
        ("--zip record=1", "--record 1"),
    ],
)
def test_the_advice_of_a_message_works(words: str, advice: str, capsys, folder: Path) -> None:
    """What it says to write instead is taken."""
    sweep = ["sweep", REGRESSION, "--store", "store"]
    steps = [] if "steps" in advice else ["--steps", "2"]
    assert main([*sweep, *steps, *words.split()]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "store" not in said and [*folder.iterdir()] == []
    assert advice in said or (words == "--set D=5" and "did you mean 'd'" in said)
    assert main([*sweep, *steps, *advice.split()]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--set scale=1,2", "use --over scale=1,2"),
        ("--steps 3,4", "use --over steps=3,4 for several"),
        ("--over record=3", "'record' is not a field; all points share it"),
        ("--over seed=3", "use --seeds 3,"),
        ("--over s=1", "add --steps N or --over steps=..."),
    ],
)
def test_the_advice_of_boundary_names_its_own_options(words: str, message: str, capsys) -> None:
    toy = str(ROOT / "tests" / "helpers" / "quadratic.py")
    steps = [] if "steps" in message else ["--steps", "3"]
    arguments = ["--along", "eta", "--between", "1:2", "--when", "diverged"]
    assert main(["boundary", toy, *arguments, *steps, *words.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--steps abc", "--steps = 'abc': 'abc' is not a number"),
        ("--steps 3,4", "must be one number; use --vary steps=3,4"),
        ("--steps 2.5", "steps = 2.5: must be an integer"),
        ("--steps 3 --set d=5 --vary d=5,6", "dimension is both in --set and on an axis"),
        ("--steps 3 --set d=5 --zip d=5,6", "dimension is both in --set and on an axis"),
        ("--steps 3 --set d=1e12", "dimension (d) = 1000000000000: must be an integer below 2^31"),
        ("--steps 3 --set B=2e9 --set d=2e9", "reduce"),
        ("--steps 3 --vary eta=.1:1:100000 --vary sigma=0:1:100000", "10000000000 points"),
    ],
)
def test_a_wrong_word_is_named(
    words: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(spoilt("", ""))
    assert main(["plan", "mine.py", *words.split()]) == 2
    errors = capsys.readouterr().err
    assert message in errors and len(errors.splitlines()) == 1
