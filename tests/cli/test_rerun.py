"""`jaxtheory rerun`: the run of a store, equal bit for bit."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from jaxtheory.cli.main import main

QUADRATIC = str(Path(__file__).parents[1] / "helpers" / "quadratic.py")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--vary", "eta=0.1,0.2", "--seeds", "3", "--steps", "4", "--store", "out"]
    assert main(["sweep", QUADRATIC, *words]) == 0
    return tmp_path / "out"


def test_it_prints_the_results_and_the_call(store, capsys):
    capsys.readouterr()
    assert main(["rerun", "out", "eta=0.2", "seed=1", "--theory", QUADRATIC]) == 0
    printed = capsys.readouterr().out
    assert "equal bit for bit  4 of 4 arrays" in printed
    assert "jaxtheory.run_key(0, 1)" in printed and "eta=0.2" in printed
    code = printed.partition("up to rounding):\n\n")[2]
    again = {}
    exec(code.replace("jaxtheory.simulate", "result = jaxtheory.simulate"), again)
    want = xr.open_zarr("out/data.zarr").distance.sel(eta=0.2, seed=1)
    np.testing.assert_allclose(again["result"].metrics["distance"], want, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out", "eta=0.2"], "seed: choose one of the 3 values"),
        (["out", "eta"], "must be NAME=VALUE"),
        (["nowhere"], "no such directory"),
    ],
)
def test_a_wrong_choice_is_one_sentence(store, capsys, words, message):
    capsys.readouterr()
    assert main(["rerun", *words, "--theory", QUADRATIC]) == 2
    shown = capsys.readouterr()
    assert message in shown.err and "Traceback" not in shown.err
