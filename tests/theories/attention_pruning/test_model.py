"""Attention under any mask, and what validate refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.pruning import drawn

from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.attention_pruning import PRESETS, Config, model, predictions
from jaxtheory.theories.attention_pruning.model import FusedMask


def test_any_attention_mask_can_be_given():
    """A row without permitted tokens has no attention, and nothing becomes NaN."""
    config = Config(dimension=4, length=5, attention="full")
    problem = drawn(config)
    mask = jax.random.bernoulli(jax.random.key(3), 0.5, (5, 5)).at[2].set(False)
    problem = problem._replace(attention_mask=mask)
    batch, params = model.Batch(problem.inputs), FusedMask(jnp.ones_like(problem.weights))
    f = model.forward(params, batch, problem, config)
    assert (f[0] == 0)[~mask].all()
    np.testing.assert_allclose(f[0].sum(-1), np.asarray(mask.any(-1), float), rtol=1e-12)
    arrays = jax.jit(
        lambda m, p: (jax.grad(model.loss)(m, batch, p, config), predictions.metrics(m, p, config))
    )(params, problem)
    assert all(np.isfinite(v).all() for v in jax.tree.leaves(arrays))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"pruning_ratio": 1.0}, "pruning_ratio"),
        ({"pruning_ratio": -0.1}, "pruning_ratio"),
        ({"regularization": 0.0}, "regularization"),
        ({"length": 0}, "length"),
        ({"momentum": 1.0}, "momentum"),
        ({"rank": 65}, "rank"),
        ({"logit_scale": float("nan")}, "logit_scale"),
        ({"clip": 1}, "clip"),
    ],
)
def test_bad_values_are_named(change, names):
    with pytest.raises(InputError, match=names):
        validate(Config(**change))


def test_presets_are_valid():
    for config, steps in PRESETS.values():
        validate(config)
        assert steps > 0
