"""The architecture: rotations, causality, precision, perplexity."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import InputError, llama
from jaxtheory.llama import model

from .models import make, tokens

KINDS = [
    llama.Rope(),
    llama.Rope(kind="linear", factor=4.0),
    llama.Rope(500000.0, "llama3", 8.0, 1.0, 4.0, 32),
]


@pytest.mark.parametrize("rope", KINDS, ids=lambda rope: rope.kind)
def test_rotations_turn_back_and_see_distances_only(rope):
    _, config = make(rope=rope)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 9, 4)))
    np.testing.assert_allclose(
        model.rotate(model.rotate(x, config), config, inverse=True), x, atol=1e-14
    )
    same = model.rotate(jnp.broadcast_to(x[:, :1], x.shape), config)
    products = np.einsum("bte,bse->bts", same, same)
    for distance in range(9):
        np.testing.assert_allclose(np.diff([np.diag(p, distance) for p in products]), 0, atol=1e-12)


def test_logits_are_causal_and_independent_of_the_batch():
    weights, config = make()
    text = tokens(config)
    changed = text.copy()
    changed[:, 7:] = (changed[:, 7:] + 1) % config.vocab_size
    got, variant = (llama.logits(weights, t, config) for t in (text, changed))
    np.testing.assert_array_equal(got[:, :7], variant[:, :7])
    assert np.abs(got[:, 7:] - variant[:, 7:]).max() > 1e-3
    np.testing.assert_allclose(llama.logits(weights, text[2:3], config)[0], got[2], atol=1e-5)


def test_sequences_in_parts_give_the_same(monkeypatch):
    weights, config = make()
    text = tokens(config, 5)
    want = llama.logits(weights, text, config), llama.perplexity(weights, text, config)
    monkeypatch.setattr(model, "LOGITS_AT_ONCE", 2 * config.num_attention_heads * 12**2)
    jax.clear_caches()
    np.testing.assert_allclose(llama.logits(weights, text, config), want[0], atol=1e-5)
    # exp of a loss of six, whose float32 sum goes another way
    np.testing.assert_allclose(llama.perplexity(weights, text, config), want[1], rtol=1e-5)
    jax.clear_caches()


def test_perplexity_is_the_mean_over_predictions():
    weights, config = make(tie_word_embeddings=True)
    text = tokens(config)
    log_p = jax.nn.log_softmax(llama.logits(weights, text, config))
    log_likelihoods = [log_p[b, t, text[b, t + 1]] for b in range(4) for t in range(11)]
    assert llama.perplexity(weights, text, config) == pytest.approx(
        np.exp(-np.mean(log_likelihoods)), 1e-5
    )
    uniform = jax.tree.map(jnp.zeros_like, weights)
    assert llama.perplexity(uniform, text, config) == pytest.approx(config.vocab_size, 1e-5)


def test_bfloat16_weights_are_computed_in_float32():
    weights, config = make()
    half = jax.tree.map(lambda a: a.astype(jnp.bfloat16), weights)
    got = llama.logits(half, tokens(config), config)
    back = jax.tree.map(lambda a: a.astype(jnp.float32), half)
    np.testing.assert_array_equal(got, llama.logits(back, tokens(config), config))
    assert got.dtype == jnp.float32


def test_logits_under_jit_and_grad():
    weights, config = make()
    text = tokens(config)
    got = jax.jit(llama.logits, static_argnums=2)(weights, text, config)
    np.testing.assert_allclose(got, llama.logits(weights, text, config), atol=1e-5)
    gradient = jax.grad(llama.loss)(weights, text, config)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (np.zeros((2, 3, 4), int), "(2, 3, 4)"),
        (np.zeros(5, int), "(5,)"),
        (np.zeros((0, 5), int), "(0, 5)"),
        (np.zeros((1, 4)), "float64"),
        (np.full((1, 4), 100), "[0, vocab_size = 100)"),
        (np.full((1, 4), -1), "-1"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(text, message):
    weights, config = make()
    for function in (llama.logits, llama.perplexity):
        with pytest.raises(InputError) as refused:
            function(weights, text, config)
        assert message in str(refused.value)
    with pytest.raises(InputError, match="2 tokens"):
        llama.perplexity(weights, np.zeros((3, 1), int), config)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_key_value_heads": 3}, "num_attention_heads = 4: must be a multiple"),
        ({"head_dim": 5}, "head_dim = 5: must be even"),
        ({"num_hidden_layers": 0}, "num_hidden_layers = 0"),
        ({"hidden_size": 2.5}, "hidden_size = 2.5"),
        ({"rope": llama.Rope(kind="yarn")}, "rope_type = 'yarn'"),
    ],
)
def test_configs_that_cannot_be_are_refused(fields, message):
    _, config = make()
    with pytest.raises(InputError) as refused:
        dataclasses.replace(config, **fields)
    assert message in str(refused.value)
