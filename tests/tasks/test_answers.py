"""The answer at the last position, its loss and the attention of its query."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.tasks import answers

LOGITS = jax.random.normal(run_key(0, 0), (5, 4))
LABEL = jnp.array([0, 2, 1, 2, 0], jnp.int32)


def law(logits):
    e = np.exp(np.asarray(logits))
    return e / e.sum(axis=1, keepdims=True)


def test_cross_entropy_is_that_of_numpy():
    want = -np.mean(np.log(law(LOGITS)[np.arange(5), LABEL]))
    got = answers.cross_entropy(LOGITS, LABEL, Size(5).weights(), 4)
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_padding_of_classes_and_weights_counts_for_nothing():
    want = answers.cross_entropy(LOGITS[:3, :3], LABEL[:3], Size(3).weights(), 3)
    padded = LOGITS.at[3:].set(7.0).at[:, 3].set(9.0)
    loss = lambda x: answers.cross_entropy(x, LABEL, Size(5, 3).weights(), Size(4, 3))
    np.testing.assert_allclose(loss(padded), want, rtol=1e-13)
    slope = jax.grad(loss)(padded)
    assert np.all(np.isfinite(slope))
    assert not np.any(slope[3:]) and not np.any(slope[:, 3])


def test_the_true_law_is_the_best_answer_to_itself():
    p = jnp.asarray(law(LOGITS))
    loss, accuracy = answers.against_law(LOGITS, p, Size(5).weights(), Size(4))
    np.testing.assert_allclose(loss, jnp.mean(answers.entropy(p)), rtol=1e-13)
    np.testing.assert_allclose(accuracy, jnp.mean(jnp.max(p, axis=1)), rtol=1e-13)
    rival, _ = answers.against_law(LOGITS + LOGITS[::-1], p, Size(5).weights(), Size(4))
    assert rival > loss


def test_entropy_of_a_certain_event_is_0():
    np.testing.assert_array_equal(answers.entropy(jnp.array([[0.0, 1.0], [1.0, 0.0]])), 0)
    np.testing.assert_allclose(answers.entropy(jnp.full((2,), 0.5)), np.log(2), rtol=1e-15)


@pytest.mark.parametrize("n", [6, 4])
def test_attention_of_the_last_query_is_that_of_the_best_head(n):
    maps = jax.nn.softmax(jax.random.normal(run_key(1, 0), (2, 5, 3, 6, 6)), axis=4)
    wanted = jax.random.bernoulli(run_key(2, 0), 0.4, (5, 6))
    weight = Size(5, 4).weights()
    best = max(
        np.mean([np.asarray(maps)[a, b, h, n - 1][np.asarray(wanted[b])].sum() for b in range(4)])
        for a in range(2)
        for h in range(3)
    )
    np.testing.assert_allclose(answers.on(maps, wanted, weight, n), best, rtol=1e-13)
    attention = answers.of_answer(maps, weight, n)
    np.testing.assert_allclose(attention, np.mean(maps[:, :4, :, n - 1], axis=1), rtol=1e-13)


def test_without_maps_the_attention_is_not_a_number():
    assert np.isnan(answers.on(None, jnp.ones((1, 2), bool), jnp.ones(1), 2))
