"""Effects of heads and edges of a network whose answer is known."""

import numpy as np
from helpers.parent_head import CONFIG, MEAN, PARAMS, PARENT, PLAIN, PROBLEM, THEORY, N

import jaxtheory
from jaxtheory import networks


def test_only_the_edge_to_the_parent_matters():
    effects = networks.edge_effects(THEORY)(PARAMS, PROBLEM, CONFIG)
    want = np.zeros(N)
    want[PARENT] = MEAN - PLAIN
    assert want[PARENT] > 1
    np.testing.assert_allclose(effects, want, atol=1e-5)


def test_only_the_head_on_the_parent_matters():
    effects = networks.head_effects(THEORY)(PARAMS, PROBLEM, CONFIG)
    np.testing.assert_allclose(effects, [[MEAN - PLAIN, 0]], atol=1e-5)


def test_effects_are_observed_along_training():
    data = jaxtheory.sweep(
        THEORY,
        CONFIG,
        steps=2,
        observe={"heads": networks.head_effects(THEORY), "edges": networks.edge_effects(THEORY)},
        dims={"heads": ("layer", "head"), "edges": ("key",)},
    )
    assert data.heads.dims == ("seed", "step", "layer", "head") and data.edges.sizes["key"] == N
    assert np.isfinite(data.heads).all() and np.isfinite(data.edges).all()
