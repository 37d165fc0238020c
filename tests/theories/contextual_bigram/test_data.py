"""The task and the samples: laws and padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.theories.contextual_bigram import Config, data

KEY = run_key(0, 0)
draw = jax.jit(data.problem)
fresh = jax.jit(data.sample)


def test_the_stationary_law_of_rare_states_has_small_relative_error():
    P = np.array([[1 - 1e-9, 1e-3], [1e-9, 1 - 1e-3]])
    np.testing.assert_allclose(
        data.stationary(jnp.asarray(P)), np.array([1, 1e-6]) / (1 + 1e-6), rtol=1e-13
    )


def test_a_drawn_transition_keeps_the_floor_where_it_can():
    tasks = jax.jit(jax.vmap(data.problem, in_axes=(0, None)))(
        jax.random.split(KEY, 40), Config(length=8)
    )
    least = np.min(tasks.stationary, axis=1)
    assert np.mean(least >= 0.1) > 0.9
    assert np.std(tasks.transition[:, 0, 0]) > 0.1


def test_a_drawn_transition_is_not_trivial():
    tasks = jax.jit(jax.vmap(data.problem, in_axes=(0, None)))(
        jax.random.split(KEY, 200), Config(num_states=2, length=8)
    )
    P, mu = np.asarray(tasks.transition), np.asarray(tasks.stationary)
    signal = np.sum(mu[:, None, :] * (P - mu[:, :, None]) ** 2, axis=(1, 2)) / np.sum(mu**2, axis=1)
    assert np.min(signal) >= 0.01 and np.min(mu) >= 0.1


def test_uniform_and_unequal_contexts():
    for weights in ("uniform", "unequal"):
        Q = np.asarray(draw(KEY, Config(length=20, sparsity=4, weights=weights)).context)
        assert ((Q > 0).sum(axis=0) == 4).all()
        np.testing.assert_allclose(Q.sum(axis=0), 1, rtol=1e-14)
        assert (Q[Q > 0].min() < 0.25 - 1e-6) == (weights == "unequal") and Q[Q > 0].min() > 0.125


def test_the_pretrained_transition_at_correlation_one_is_the_transition():
    task = draw(KEY, Config(length=8))
    np.testing.assert_allclose(task.pretrained, task.transition, atol=1e-14)


@pytest.mark.parametrize(("num_states", "dtype"), [(3, np.uint8), (9, np.uint8), (300, np.int32)])
def test_tokens_follow_the_stationary_law(num_states, dtype):
    config = Config(num_states=num_states, length=400, batch_size=128, stationary_floor=0.0)
    task = draw(KEY, config)
    tokens = np.asarray(fresh(KEY, task, config).tokens)
    assert tokens.dtype == dtype
    frequencies = np.bincount(tokens.ravel(), minlength=num_states) / tokens.size
    mu = np.asarray(task.stationary)
    assert (np.abs(frequencies - mu) <= 5 * np.sqrt(mu * (1 - mu) / tokens.size) + 1e-12).all()


def test_samples_do_not_depend_on_the_arrays_size():
    config = Config(num_states=3, length=9, sparsity=2, batch_size=5)
    task = draw(KEY, config)
    plain = fresh(KEY, task, config)
    larger = config.pad(num_states=10, length=14, sparsity=4, batch_size=8)
    padded = fresh(
        KEY,
        jax.tree.map(
            lambda x, y: jnp.zeros_like(y).at[tuple(map(slice, x.shape))].set(x),
            task,
            draw(KEY, larger),
        ),
        larger,
    )
    for small, large in zip(plain, padded, strict=True):
        np.testing.assert_array_equal(np.asarray(large)[tuple(map(slice, small.shape))], small)
        assert np.count_nonzero(large) == np.count_nonzero(small)


def test_a_label_comes_from_an_attended_token():
    """A deterministic P: the label tells the token, and over many samples only attended positions
    explain it.
    """
    cycle = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    config = Config(given=cycle, length=12, sparsity=2, batch_size=500)
    task = draw(KEY, config)
    tokens, query, label = (np.asarray(x).astype(int) for x in fresh(KEY, task, config))
    came_from = (label - 1) % 3
    attended = np.asarray(task.context).T[query] > 0
    assert ((tokens == came_from[:, None]) & attended).any(axis=1).all()


def test_generation_goes_on_from_what_it_made():
    cycle = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    config = Config(given=cycle, length=3, sparsity=1)
    task = draw(KEY, config)._replace(
        context=jnp.eye(3)[:, jnp.array([2, 2, 2])]
    )  # always the last token of the context
    start = jnp.array([0, 0, 1, 2])
    assert data.generate(KEY, task, start, 4, config).tolist() == [2, 0, 0, 1]


def test_nothing_of_a_fresh_sample_is_left_in_a_generated_one():
    """A deterministic P and the last token of the context: labels go round two cycles in turn."""
    cycle = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    config = Config(given=cycle, length=9, sparsity=1, batch_size=20)
    task = draw(KEY, config)._replace(context=jnp.eye(9)[:, jnp.array([8, 8, 8])])
    tokens, query, label = (np.asarray(x) for x in data.sequences(KEY, task, config))
    chains = np.concatenate([tokens.astype(int), query[:, None], label[:, None]], axis=1)
    np.testing.assert_array_equal(chains[:, 2:], (chains[:, :-2] + 1) % 3)


def test_generated_contexts_do_not_depend_on_padding():
    exact = Config(length=9, batch_size=5)
    padded = Config(length=Size(12, 9), batch_size=Size(8, 5))
    task = draw(KEY, exact)
    larger = task._replace(context=jnp.pad(task.context, ((0, 3), (0, 0))))
    for small, large in zip(
        data.sequences(KEY, task, exact), data.sequences(KEY, larger, padded), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(large)[tuple(map(slice, small.shape))], small)
        assert np.count_nonzero(large) == np.count_nonzero(small)


def test_a_size_may_be_padded_and_traced():
    config = Config(length=Size(12, 9), batch_size=Size(8, 5))
    task = draw(KEY, config)
    assert not np.asarray(task.context)[9:].any()
    assert not np.asarray(fresh(KEY, task, config).tokens)[5:].any()
