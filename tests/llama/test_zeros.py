"""Bytes of pruned weights in formats for zeros, and the sparse products of the benchmark."""

import zlib

import numpy as np
import pytest
from benchmarks import llama_zeros
from safetensors.numpy import load_file

from jaxtheory import llama
from jaxtheory.cli import main

from .models import TEXT, folder, make, tokens


def test_bytes_are_those_of_the_file(tmp_path):
    weights, config = make()
    sparse, _ = llama.prune(weights, tokens(config), config, attention="magnitude", ratio=0.75)
    llama.save(tmp_path / "a", sparse, config)
    arrays = load_file(tmp_path / "a" / "model.safetensors").values()
    stored = llama.stored_bytes(sparse, config)
    assert stored["full"] == sum(array.nbytes for array in arrays)
    assert stored["zlib"] == sum(len(zlib.compress(array.tobytes(), 6)) for array in arrays)
    # of W_Q (16, 16) and W_K (16, 8), a quarter of the floats and a bit per entry; others in full
    saved = 2 * (16 * 16 + 16 * 8) * (4 * 0.75 - 1 / 8)
    assert stored["bit_mask"] == stored["full"] - saved
    assert llama.stored_bytes(weights, config)["bit_mask"] == stored["full"]


def test_the_command_prints_bytes(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    place = folder(tmp_path / "dense")
    words = f"prune {place} --to {tmp_path / 'out'} --text {tmp_path / 'text.txt'} --sizes"
    options = "--attention magnitude --mlp magnitude --window 32 --evaluate 2"
    assert main.main([*words.split(), *options.split()]) == 0
    shown = capsys.readouterr().out
    stored = [llama.stored_bytes(*llama.load(tmp_path / name)) for name in ("dense", "out")]
    assert all(str(size) in shown for sizes in stored for size in sizes.values())


@pytest.mark.parametrize("zeros", [0.8, "2:4"])
def test_products_of_the_benchmark_agree(zeros):
    W = llama_zeros.pruned_matrix(16, 24, zeros)
    assert np.isclose(np.mean(W == 0), 0.5 if zeros == "2:4" else zeros, atol=0.02)
    x = np.random.default_rng(0).standard_normal((3, 16), np.float32)
    for name, product in llama_zeros.products(W, zeros).items():
        np.testing.assert_allclose(product(x), x @ W, atol=1e-5, err_msg=name)
