"""The data: padding bit for bit, what validate refuses, real text."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory.core.config import InputError, validate
from jaxtheory.theories.low_rank import P1, TEXT, THEORY, Config, length, loss, problem, sample, text, text_theory

KEY = jaxtheory.run_key(0, 0)
SMALL = Config(num_patterns=5, dimension=6, num_relevant=3, num_confusion=1, num_neurons=6, batch_size=4, num_samples=10, num_test=6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_confusion": 9}, ["num_confusion (nconf) = 9", "below num_relevant (nrel) = 9"]),
        ({"num_relevant": 0}, ["num_relevant (nrel) = 0", "[1, inf)"]),
        ({"num_patterns": 2}, ["num_patterns (M) = 2", "[3, inf)"]),
        ({"num_patterns": 21}, ["num_patterns (M) = 21", "[3, dimension (d)] = [3, 20]"]),
        ({"num_relevant_patterns": 21}, ["num_relevant_patterns (R) = 21", "num_patterns (M)"]),
        ({"task": "multiclass", "num_classes": 3}, ["num_relevant_patterns (R) = 2", "num_classes (C) = 3"]),
        ({"num_classes": 3, "num_relevant_patterns": 3}, ["num_classes (C) = 3", "task=multiclass"]),
        ({"batch_size": 601}, ["batch_size (B) = 601", "[1, 600]"]),
        ({"num_queries": 31}, ["num_queries (S) = 31", "[0, 30]"]),
        ({"truncation_rank": 0}, ["truncation_rank (r) = 0", "[1, inf)"]),
        ({"truncation_rank": 21}, ["truncation_rank (r) = 21", "[1, 20]"]),
        ({"num_heads": 3}, ["num_heads (H) = 3", "query_dim (m_b) = 20"]),
        ({"num_layers": 2, "value_dim": 10}, ["num_layers (nl) = 2", "value_dim (m_a) = 10"]),
        ({"noise": -0.1}, ["noise (sigma) = -0.1", "[0, inf)"]),
        ({"coherence": 1.0}, ["coherence (cos) = 1.0", "[0, 1)"]),
        ({"given": ((1.0, 0.0), (0.0, 1.0))}, ["given (U)", "shape (2, 2)", "(20, 20)"]),
        ({"given": ((1.0, 0, 0), (0.6, 0.8, 0), (0, 0, 1.0)), "num_patterns": 3, "dimension": 3}, ["orthonormal", "0.6"]),
        ({"given": ((1.0,), (1.0, 0.0))}, ["given (U)", "tuple of M rows"]),
    ],
)  # fmt: skip
def test_bad_input_gets_one_clear_line(change, words):
    with pytest.raises(InputError) as error:
        validate(Config(**change))
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_gaussian_tokens_do_not_depend_on_the_arrays_size():
    larger = SMALL.pad(num_patterns=7, dimension=9, num_relevant=5, num_samples=13, num_test=9, batch_size=6, num_irrelevant_each=2)

    def draws(config):
        made = problem(KEY, config)
        return made.train, made.test, sample(KEY, made, config)

    for small, large in zip(jax.tree.leaves(jax.jit(draws)(SMALL)), jax.tree.leaves(jax.jit(draws)(larger)), strict=True):
        np.testing.assert_array_equal(np.asarray(large)[tuple(map(slice, small.shape))], small)
        assert np.count_nonzero(large) == np.count_nonzero(small)


def test_given_patterns_are_those_of_the_tokens():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0][:5]
    made = problem(KEY, SMALL.replace(given=tuple(map(tuple, turn.tolist())), noise=0.0))
    np.testing.assert_allclose(made.train.tokens, turn[np.asarray(made.train.pattern)], atol=1e-14)


def test_output_weights_per_position_hold_for_one_length():
    config = P1.replace(num_neurons=SMALL.num_neurons, num_samples=SMALL.num_samples, num_test=SMALL.num_test)
    made = jax.eval_shape(problem, KEY, config)
    other = config.replace(num_relevant=jaxtheory.Size(10))
    params = jax.eval_shape(THEORY.init, KEY, made, config)
    with pytest.raises(InputError, match="A has 30 positions and X has 31"):
        jax.eval_shape(lambda p, m: loss(p, m.test, m, other), params, made)


def test_windows_of_text_are_bytes_of_their_class(tmp_path):
    for name, letters in (("one", "ab"), ("two", "xyz")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.txt").write_text(letters * 400)
        (folder / "b.bin").write_bytes(b"\xff\xfe\x00")
    corpus = text.read((tmp_path / "one", tmp_path / "two"))
    assert [set(part.tobytes()) for part in corpus] == [set(b"ab"), set(b"xyz")]
    config = TEXT.replace(num_samples=jaxtheory.Size(8), num_test=jaxtheory.Size(6), num_relevant=jaxtheory.Size(5))
    made = text.problem_of(corpus)(KEY, config)
    assert made.train.tokens.shape == (8, length(config).cap, 32) and made.train.label.tolist() == [0, 1] * 4
    distinct = [len(np.unique(np.round(made.train.tokens[made.train.label == c].reshape(-1, 32), 9), axis=0)) for c in (0, 1)]
    assert distinct == [2, 3]
    assert jnp.all(made.train.pattern >= config.num_relevant_patterns.n)


def test_text_from_labelled_lines_and_bad_sources(tmp_path):
    lines = tmp_path / "lines.tsv"
    lines.write_text("no\tbad\nyes\tgood\nno\tworse\n")
    assert [part.tobytes() for part in text.read(lines)] == [b"bad\nworse", b"good"]
    lines.write_text("only\tone\n")
    for source, words in (
        (lines, "1 labels"),
        (tmp_path / "none", "no such file"),
        ((tmp_path, tmp_path / "none"), "no folder with text files"),
        ((tmp_path,), "give two"),
        (tmp_path, "a folder; give two"),
        (5, "give two folders"),
        ((None, tmp_path), "give two folders"),
    ):
        with pytest.raises(InputError, match=words):
            text.read(source)
    lines.write_text("no tab\n")
    with pytest.raises(InputError, match="line 1: no tab"):
        text.read(lines)
    lines.write_bytes("\ufeffa\tone\x0ctwo\r\nb\tthree\r\n\r\n".encode())
    assert [part.tobytes() for part in text.read(lines)] == [b"one\x0ctwo", b"three"]
    lines.write_bytes(b"a\thi\xe9\nb\thi\n")
    with pytest.raises(InputError, match="not UTF-8"):
        text.read(lines)
    with pytest.raises(InputError, match="at least 960"):
        text.problem_of((np.zeros(900, np.uint8), np.zeros(1900, np.uint8)))(KEY, TEXT)
    with pytest.raises(InputError, match="task=binary"):
        text.problem_of(text.read())(KEY, TEXT.replace(task="multiclass"))


def test_the_default_text_is_read_when_a_problem_is_drawn(monkeypatch):
    def unread(source):
        raise AssertionError("read")

    monkeypatch.setattr(text, "read", unread)
    text.default.cache_clear()
    theory = text_theory()
    with pytest.raises(AssertionError, match="read"):
        theory.problem(KEY, TEXT)


def test_the_default_text_is_there():
    assert min(map(len, text.read())) > 100_000
    assert text_theory().name == "low_rank_text"
