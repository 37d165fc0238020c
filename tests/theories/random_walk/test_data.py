"""The data law: walks, questions and padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops.draws import run_key
from jaxtheory.theories.random_walk import Config, data, model

KEY = run_key(0, 0)
draw = jax.jit(data.problem)
SMALL = Config(num_states=5, length=7, num_sequences=9, encoding_dim=11, clockwise_probability=0.7)


def test_every_step_goes_to_a_neighbor():
    batch = draw(KEY, SMALL).test
    s = np.concatenate([np.asarray(batch.s)[:, :-1], np.asarray(batch.y)[:, None]], axis=1)
    assert set(np.unique(np.diff(s, axis=1) % 5)) == {1, 4}
    assert set(np.unique(s[:, 0])) == set(range(5))


@pytest.mark.parametrize(("p", "turn"), [(0.0, -1), (1.0, 1)])
@pytest.mark.parametrize("population", [False, True])
def test_deterministic_walks(p, turn, population):
    batch = draw(KEY, SMALL.replace(clockwise_probability=p, population=population)).train
    s = np.asarray(batch.s)
    assert len(s) == (5 if population else 9)
    np.testing.assert_array_equal(s[:, :-1], (s[:, :1] + turn * np.arange(6)) % 5)
    np.testing.assert_array_equal(batch.y, (s[:, 0] + 6 * turn) % 5)


@pytest.mark.parametrize(
    "config",
    [SMALL, SMALL.replace(clockwise_probability=1.0, population=True)],
    ids=["sampled", "population"],
)
def test_padding_keeps_the_draws(config):
    padded = draw(KEY, config.pad(num_states=8, length=10, num_sequences=13, encoding_dim=12))
    for small, large in zip(
        jax.tree.leaves(draw(KEY, config)), jax.tree.leaves(padded), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(large)[tuple(map(slice, small.shape))], small)
        assert np.count_nonzero(large) == np.count_nonzero(small)


def test_the_law_of_the_label_is_a_row_of_the_transition_matrix():
    Pi = np.array([[0, 0.7, 0, 0.3], [0.3, 0, 0.7, 0], [0, 0.3, 0, 0.7], [0.7, 0, 0.3, 0]])
    padded = SMALL.replace(num_states=4).pad(num_states=6)
    np.testing.assert_allclose(data.transition(padded), np.pad(Pi, (0, 2)), atol=1e-15)
    batch = draw(KEY, padded).train
    np.testing.assert_allclose(
        data.label_law(batch, padded)[:, :4], Pi[np.asarray(batch.s)[:, 5]], atol=1e-15
    )


@pytest.mark.parametrize("n", [1, 2, 23, 24, 25, 48, 49, 96, 200])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_steps_are_counted_by_the_bits_of_words(n, share):
    x = np.random.default_rng(n).random((50, n)) < share
    np.testing.assert_array_equal(data.counts(jnp.asarray(x)), np.cumsum(x, axis=1))


def read(sentence):
    return " ".join(model.VOCABULARY[word] for word in np.asarray(sentence))


def test_the_questions_and_their_answers():
    coins = jnp.asarray(np.random.default_rng(0).random((40, 17)) < 0.5)
    sentences, answers = data.sentences(coins, "qa1")
    for sentence, answer in zip(np.asarray(sentences), np.asarray(answers), strict=True):
        text = read(sentence[:16])
        assert text.startswith("Based on the list") and text.endswith(
            "which type of fruit appears most frequently"
        )
        assert text.count(model.VOCABULARY[answer]) > text.count(model.VOCABULARY[1 - answer])
    coins = jnp.asarray(np.random.default_rng(0).random((40, 19)) < 0.5)
    sentences, answers = data.sentences(coins, "qa2")
    for sentence, answer in zip(np.asarray(sentences), np.asarray(answers), strict=True):
        liked, rival = model.VOCABULARY[answer], model.VOCABULARY[1 - answer]
        assert (
            read(sentence[:18])
            == f"Based on the sentence I prefer an {liked} to an {rival} which type of fruit do I "
            "prefer"
        )
    assert set(np.asarray(answers)) == {0, 1}


def test_questions_have_one_layout_in_every_problem():
    batch = draw(KEY, Config(num_states=19, length=17, task="qa1", num_sequences=4)).train
    assert read(batch.s[0, :4]) == "Based on the list" and not np.any(batch.s[:, 16])
