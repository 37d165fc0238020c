"""`jaxtheory prune` as a user types it."""

import json

import numpy as np
import pytest

from jaxtheory import llama
from jaxtheory.cli import main

from .models import TEXT, folder


@pytest.fixture
def place(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    folder(tmp_path / "dense")
    return tmp_path


def run(place, *words):
    given = ["prune", place / "dense", "--to", place / "out", "--text", place / "text.txt"]
    return main.main([str(word) for word in (*given, "--window", "32", "--evaluate", "4", *words)])


def test_from_folder_to_folder(place, capsys):
    assert run(place, "--attention", "sparsegpt", "--mlp", "wanda", "--ratio", ".6") == 0
    shown = capsys.readouterr().out
    weights, _ = llama.load(place / "out")
    assert int((np.asarray(weights.layers[1].query) == 0).sum()) == int(0.6 * 256)
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert "perplexity" in shown and "0.5977" in shown and "before" in shown
    assert not list(place.glob(".out*"))
    dense = llama.load(place / "dense")[0]
    np.testing.assert_array_equal(weights.embedding, dense.embedding)
    assert run(place) == 2
    assert "not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "kind", [{"model_type": "qwen2", "sliding_window": 4}, {"model_type": "qwen3"}]
)
def test_other_models_of_the_family(tmp_path, kind):
    (tmp_path / "text.txt").write_text(TEXT)
    folder(tmp_path / "dense", **kind)
    assert run(tmp_path, "--attention", "wanda", "--evaluate", "2") == 0
    config = llama.load(tmp_path / "out")[1]
    assert {name: getattr(config, name) for name in kind} == kind


def test_patterns_and_the_gradient_method(place):
    assert run(place, "--pattern", "2:4", "--samples", "2") == 0
    kept = np.asarray(llama.load(place / "out")[0].layers[0].key).reshape(4, 4, -1) != 0
    assert (kept.sum(axis=1) == 2).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--ratio", "1"), "ratio = 1.0: must be a number in [0, 1)"),
        (("--attention", "wand"), "attention = 'wand': unknown"),
        (("--pattern", "2to4"), "pattern = '2to4': must be N:M"),
        (("--pattern", "2:5"), "not a multiple of 5"),
        (("--text", "nothing.txt"), "nothing.txt: no such file"),
        (("--window", "100000"), "a window of 100000 needs 500000"),
        (("--window", "1"), "window = 1"),
        (("--samples", "0"), "samples = 0"),
        (("--evaluate", "0"), "evaluate = 0"),
    ],
)
def test_mistakes_get_one_line_and_leave_nothing(place, capsys, words, message):
    before = sorted(place.rglob("*"))
    assert run(place, *words) == 2
    found = capsys.readouterr()
    assert message in found.err and found.err.count("\n") == 1 and not found.out
    assert sorted(place.rglob("*")) == before


def test_folders_and_texts_that_do_not_fit(place, capsys):
    (place / "dense" / "tokenizer.json").rename(place / "tokenizer.json")
    assert run(place) == 2
    assert "tokenizer.json: no such file" in capsys.readouterr().err
    (place / "dense" / "tokenizer.json").write_text("{}")
    assert run(place) == 2
    assert "cannot process this text" in capsys.readouterr().err
    (place / "text.txt").write_bytes(b"\xff\xfe\x00")
    assert run(place) == 2
    assert "is not UTF-8" in capsys.readouterr().err
    (place / "text.txt").write_text(TEXT)
    (place / "tokenizer.json").rename(place / "dense" / "tokenizer.json")
    path = place / "dense" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"vocab_size": 60}))
    assert run(place) == 2
    assert "tokenizer is not that of the model" in capsys.readouterr().err
    (place / "dense" / "config.json").unlink()
    assert run(place) == 2
    assert "config.json: cannot be read" in capsys.readouterr().err


def test_a_folder_of_texts_is_read_by_name(place):
    (place / "texts").mkdir()
    (place / "texts" / "b.txt").write_text("second")
    (place / "texts" / "a.txt").write_text("first")
    assert llama.text.read_corpus(place / "texts") == "first\nsecond"
