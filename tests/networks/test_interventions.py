"""Interventions on networks whose answer is known: a hand-built head on the parent of a walk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.parent_head import (
    CONFIG,
    LOGITS,
    MEAN,
    PARAMS,
    PARENT,
    PARENTS,
    PLAIN,
    PROBLEM,
    THEORY,
    K,
    N,
    loss_of,
    under,
)

import jaxtheory
from jaxtheory import InputError, networks


def test_the_hand_built_head_answers_by_the_parent():
    assert under() == pytest.approx(PLAIN, abs=1e-5)
    assert THEORY.metrics(PARAMS, PROBLEM, CONFIG)["parent_attention"] > 0.999


def test_an_ablated_head_is_its_mean_or_zero():
    assert under(networks.ablate(0, 0)) == pytest.approx(MEAN, abs=1e-5)
    assert under(networks.ablate(0, 0, to="zero")) == pytest.approx(np.log(K), abs=1e-5)
    assert under(networks.ablate(0, 1, to="zero")) == pytest.approx(PLAIN, abs=1e-5)


def test_edges_are_cut_for_one_head_or_by_the_batch():
    column = np.zeros((N, N), bool)
    column[-1, PARENT] = True
    assert under(networks.cut_edges(column, head=0)) == pytest.approx(MEAN, abs=1e-5)
    assert under(networks.cut_edges(column, head=1)) == pytest.approx(PLAIN, abs=1e-5)
    first = lambda batch, problem, config: (batch.s[:, PARENT] == 0)[:, None, None] & column[None]
    mixed = np.where(PARENTS[:, None] == 0, LOGITS[PARENTS].mean(0), LOGITS[PARENTS])
    assert under(networks.cut_edges(first)) == pytest.approx(loss_of(mixed), abs=1e-5)


def test_a_patched_head_answers_for_the_other_run():
    turned = lambda params, batch, problem, config: (
        params,
        batch._replace(s=jnp.roll(batch.s, 1, axis=0)),
    )
    second = loss_of(LOGITS[np.roll(PARENTS, 1)])
    assert under(networks.patch(turned)) == pytest.approx(second, abs=1e-5)
    assert under(networks.patch(turned, layer=0, head=0)) == pytest.approx(second, abs=1e-5)
    assert under(networks.patch(turned, head=1)) == pytest.approx(PLAIN, abs=1e-5)
    start = jax.tree.map(jnp.zeros_like, PARAMS)
    loss_without = networks.patch(lambda params, batch, problem, config: (start, batch))
    assert under(loss_without) == pytest.approx(np.log(K), abs=1e-5)


def test_interventions_come_one_after_the_other():
    ablated, patched = (
        networks.ablate(0, 0, to="zero"),
        networks.patch(lambda params, batch, problem, config: (params, batch), head=0),
    )
    assert under(ablated, patched) == pytest.approx(PLAIN, abs=1e-5)
    assert under(patched, ablated) == pytest.approx(np.log(K), abs=1e-5)


def test_what_cannot_be_changed_is_said():
    column = np.zeros((N, N), bool)
    for made, words in (
        (lambda: under(networks.ablate(1, 0)), r"layer = 1: the network has the layers 0 to 0"),
        (lambda: under(networks.ablate(0, 2)), r"head = 2: the layer has the heads 0 to 1"),
        (lambda: under(networks.cut_edges(column[1:])), r"edges of shape \(8, 9\)"),
        (lambda: networks.ablate(0, 0, to="noise"), r"to = 'noise': must be 'mean' or 'zero'"),
        (
            lambda: networks.intervene(jaxtheory.theories.get("low_rank")),
            r"low_rank is not the theory of a network",
        ),
    ):
        with pytest.raises(InputError, match=words):
            made()
