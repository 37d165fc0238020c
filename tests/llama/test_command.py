"""`jaxtheory prune` as a user types it."""

import json
import warnings

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
    argv = ["prune", place / "dense", "--to", place / "out", "--text", place / "text.txt"]
    return main.main([str(word) for word in (*argv, "--window", "32", "--evaluate", "4", *words)])


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
    support = np.asarray(llama.load(place / "out")[0].layers[0].key).reshape(4, 4, -1) != 0
    assert (support.sum(axis=1) == 2).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--ratio", "1"), "ratio = 1.0: must be a number in [0, 1)"),
        (("--attention", "wand"), "attention = 'wand': unknown"),
        (("--pattern", "2:4", "--ratio", "0.7"), "ratio = 0.7: pattern = 2:4 makes a share of 0.5"),
        (("--mlp-ratio", "0.9"), "mlp_ratio = 0.9: has no effect with attention = 'gradient'"),
        (("--attention", "dense", "--ratio", "0.5"), "ratio = 0.5: has no effect"),
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
    streams = capsys.readouterr()
    assert message in streams.err and streams.err.count("\n") == 1 and not streams.out
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


def test_hidden_files_in_a_folder_of_texts_are_left_out(place, capsys):
    texts = place / ".texts"
    for name in ("a/b.txt", "c.txt"):
        (texts / name).parent.mkdir(parents=True, exist_ok=True)
        (texts / name).write_text(name)
    for name in (".DS_Store", "a/.DS_Store", ".git/objects/0f/1a2b", "a/.cache/c.txt", "._c.txt"):
        (texts / name).parent.mkdir(parents=True, exist_ok=True)
        (texts / name).write_bytes(b"\xff\xfe\x00")
    assert llama.text.read_corpus(texts) == "a/b.txt\nc.txt"
    (texts / "a" / "b.txt").unlink()
    (texts / "c.txt").unlink()
    assert run(place, "--text", texts) == 2
    assert "is a folder without files (names that begin with a dot" in capsys.readouterr().err
    (place / ".text.txt").write_text("named")
    assert llama.text.read_corpus(place / ".text.txt") == "named"


@pytest.mark.parametrize("longest", [31, 32])
def test_a_window_beyond_the_positions_of_the_model_is_one_warning(place, capsys, longest):
    path = place / "dense" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_position_embeddings": longest}))
    words = ("--attention", "magnitude", "--eval-text", place / "text.txt", "--eval-windows", "2")
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        assert run(place, *words) == 0
    said = [str(warning.message) for warning in record if "position" in str(warning.message)]
    assert len(said) == (longest == 31)
    for message in said:
        assert "windows of 32 tokens exceed max_position_embeddings = 31" in message
        assert "(--window) of at most 31" in message and "\n" not in message
