"""`--data FILE.npz`: arrays of one's own on the command line."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.theories import get

RANDOM = np.random.default_rng(0)
WALKS = {"sequences": RANDOM.integers(0, 5, (12, 6)), "labels": RANDOM.integers(0, 5, 12)}
SWEEP = ["sweep", "random_walk", "--steps", "3", "--dtype", "float64", "--store", "store"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(**arrays: object) -> None:
    np.savez("own.npz", **arrays)


def test_a_sweep_on_arrays_is_that_of_given(here: Path) -> None:
    save(**WALKS, encoding_dim=9)
    assert main([*SWEEP, "--data", "own.npz", "--vary", "eta=.1,.5", "--set", "eps=.2"]) == 0
    theory = get("random_walk")
    problem, _, config = theory.given(**WALKS, encoding_dim=9, epsilon=0.2)
    want = jaxtheory.sweep(
        theory, config, vary={"eta": [0.1, 0.5]}, steps=3, dtype="float64", problem=problem
    )
    with xr.open_zarr(here / "store" / "data.zarr") as data:
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
    (WALKS, ["--data", "own.npz", "--vary", "p=.1,.2"], "clockwise_probability (p): the data"),
    (
        WALKS | {"p": 0.5},
        ["--data", "own.npz", "--set", "p=.1"],
        "clockwise_probability (p): given twice",
    ),
]


@pytest.mark.parametrize(("arrays", "words", "message"), BAD)
def test_what_does_not_fit_is_one_line(
    arrays: dict, words: list, message: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    if arrays:
        save(**arrays)
    assert main([*SWEEP, *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1
    assert not (here / "store").exists()


def test_a_theory_without_given_says_so(capsys: pytest.CaptureFixture) -> None:
    file = Path(__file__).parents[2] / "docs" / "examples" / "linear_regression.py"
    save(**WALKS)
    assert main(["plan", str(file), "--steps", "1", "--data", "own.npz"]) == 2
    assert "takes no arrays" in capsys.readouterr().err


FILES = {
    "text": (b"sequences,labels\n1,2\n", "numpy.savez writes such files"),
    "empty": (b"", "it is empty"),
    "archive": (b"PK\x05\x06" + bytes(18), "holds nothing: random_walk needs sequences, labels"),
    "npy": (b"\x93NUMPY\x01\x00", "numpy.savez writes arrays by name"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_file_than_npz_is_one_line(
    name: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    data, said = FILES[name]
    (here / "own.npz").write_bytes(data)
    assert main([*SWEEP, "--data", "own.npz"]) == 2
    errors = capsys.readouterr().err
    assert said in errors and errors.count("\n") == 1 and "allow_pickle" not in errors
    assert not (here / "store").exists()


@pytest.mark.parametrize("cut", [10, 300, -1])
def test_a_damaged_npz_is_one_line(cut: int, here: Path, capsys: pytest.CaptureFixture) -> None:
    save(**WALKS)
    (here / "own.npz").write_bytes((here / "own.npz").read_bytes()[:cut])
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
