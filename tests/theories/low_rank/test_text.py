"""Real text: its sources, its windows, when it is read."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory.core.errors import InputError
from jaxtheory.theories.low_rank import TEXT, data, model, text_theory

KEY = jaxtheory.run_key(0, 0)


def test_windows_of_text_are_bytes_of_their_class(tmp_path):
    for name, letters in (("one", "ab"), ("two", "xyz")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.txt").write_text(letters * 400)
        (folder / "b.bin").write_bytes(b"\xff\xfe\x00")
    corpus = data.read_text((tmp_path / "one", tmp_path / "two"))
    assert [set(part.tobytes()) for part in corpus] == [set(b"ab"), set(b"xyz")]
    config = TEXT.replace(
        num_samples=jaxtheory.Size(8), num_test=jaxtheory.Size(6), num_relevant=jaxtheory.Size(5)
    )
    made = data.text_problem(corpus)(KEY, config)
    assert (
        made.train.tokens.shape == (8, model.length(config).cap, 32)
        and made.train.label.tolist() == [0, 1] * 4
    )
    distinct = [
        len(
            np.unique(np.round(made.train.tokens[made.train.label == c].reshape(-1, 32), 9), axis=0)
        )
        for c in (0, 1)
    ]
    assert distinct == [2, 3]
    assert jnp.all(made.train.pattern >= config.num_relevant_patterns.n)


def test_text_from_labeled_lines_and_bad_sources(tmp_path):
    lines = tmp_path / "lines.tsv"
    lines.write_text("no\tbad\nyes\tgood\nno\tworse\n")
    assert [part.tobytes() for part in data.read_text(lines)] == [b"bad\nworse", b"good"]
    lines.write_text("only\tone\n")
    for source, words in (
        (lines, "1 labels"),
        (tmp_path / "none", "no such file"),
        ((tmp_path, tmp_path / "none"), "must be a folder"),
        ((tmp_path,), "give two"),
        (tmp_path, "a folder; give two"),
        (5, "give two folders"),
        ((None, tmp_path), "give two folders"),
    ):
        with pytest.raises(InputError, match=words):
            data.read_text(source)
    lines.write_text("no tab\n")
    with pytest.raises(InputError, match="line 1: must be label<TAB>text"):
        data.read_text(lines)
    lines.write_bytes("\ufeffa\tone\x0ctwo\r\nb\tthree\r\n\r\n".encode())
    assert [part.tobytes() for part in data.read_text(lines)] == [b"one\x0ctwo", b"three"]
    lines.write_bytes(b"a\thi\xe9\nb\thi\n")
    with pytest.raises(InputError, match="not UTF-8"):
        data.read_text(lines)
    with pytest.raises(InputError, match="at least 960"):
        data.text_problem((np.zeros(900, np.uint8), np.zeros(1900, np.uint8)))(KEY, TEXT)
    with pytest.raises(InputError, match="task=binary"):
        data.text_problem(data.read_text())(KEY, TEXT.replace(task="multiclass"))


def test_the_default_text_is_read_when_a_problem_is_drawn(monkeypatch):
    def unread(source):
        raise AssertionError("read")

    monkeypatch.setattr(data, "read_text", unread)
    data.packages.cache_clear()
    theory = text_theory()
    with pytest.raises(AssertionError, match="read"):
        theory.problem(KEY, TEXT)


def test_the_default_text_is_there():
    assert min(map(len, data.read_text())) > 100_000
    assert text_theory().name == "low_rank_text"
