"""Interventions on a Llama: heads, edges and other runs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import InputError, llama, networks

CONFIG = llama.Config(
    vocab_size=11,
    hidden_size=12,
    intermediate_size=10,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=6,
)
WEIGHTS = llama.init(jax.random.key(0), CONFIG, deviation=0.4)
TOKENS = np.random.default_rng(1).integers(0, 11, (3, 5))
PLAIN = llama.logits(WEIGHTS, TOKENS, CONFIG)


def changed(*interventions, tokens=TOKENS):
    return llama.logits(WEIGHTS, tokens, CONFIG, interventions=interventions)


def same(one, second):
    np.testing.assert_allclose(one, second, atol=2e-5)


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (0, 3), (1, 2)])
def test_a_head_at_zero_is_one_whose_output_rows_are_zero(layer, head):
    layers = list(WEIGHTS.layers)
    rows = jnp.asarray(jnp.arange(24)[:, None] // 6 != head, jnp.float32)
    layers[layer] = replace(layers[layer], output=layers[layer].output * rows)
    want = llama.logits(replace(WEIGHTS, layers=tuple(layers)), TOKENS, CONFIG)
    assert np.abs(want - PLAIN).max() > 0.01
    same(changed(networks.ablate(layer, head, to="zero")), want)


def test_the_mean_of_one_sequence_is_its_own():
    one = TOKENS[:1]
    want = llama.logits(WEIGHTS, one, CONFIG)
    same(changed(networks.ablate(0, 1), tokens=one), want)
    same(changed(networks.cut_edges(np.ones((5, 5), bool)), tokens=one), want)


def test_all_edges_cut_leave_nothing_of_the_other_tokens():
    """Behind the first layer's cut edges a position knows its own token alone."""
    others = ~np.eye(5, dtype=bool)
    found = changed(networks.cut_edges(others))
    again = np.array(TOKENS)
    again[:, 1] = again[::-1, 1]  # the same tokens at place 1, in other sequences
    last = changed(networks.cut_edges(others), tokens=again)
    assert np.abs(PLAIN[:, -1] - llama.logits(WEIGHTS, again, CONFIG)[:, -1]).max() > 0.01
    same(found[:, 0], PLAIN[:, 0])
    same(last[1, 1], found[1, 1])


def test_a_patched_run_is_the_other_run_where_the_stream_is_the_same():
    """Attention of all layers is that of other tokens; the first token's stream is its own."""
    second = np.array(TOKENS)
    second[:, 1:3] = TOKENS[::-1, 1:3]
    patched = changed(networks.patch(lambda weights, tokens, problem, config: (weights, second)))
    want = llama.logits(WEIGHTS, second, CONFIG)
    same(patched[:, 3:], want[:, 3:])  # the tokens there are the same
    assert np.abs(want[:, 3:] - PLAIN[:, 3:]).max() > 0.01
    itself = networks.patch(lambda weights, tokens, problem, config: (weights, tokens), layer=1)
    same(changed(itself), PLAIN)


def test_matrices_of_a_llama_are_cut():
    cut = networks.cut(WEIGHTS, "layers/0/query", 1)
    assert np.linalg.matrix_rank(cut.layers[0].query, tol=1e-4) == 1
    assert cut.layers[1].query is WEIGHTS.layers[1].query


def test_what_a_llama_does_not_have_is_said():
    with pytest.raises(InputError, match="layer = 2: the network has the layers 0 to 1"):
        changed(networks.ablate(2, 0))
    with pytest.raises(InputError, match="head = 4: the layer has the heads 0 to 3"):
        changed(networks.ablate(0, 4))
