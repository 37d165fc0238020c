"""A Linen module as functions: precision, attention maps in the order of layers, and refusals."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import InputError
from jaxtheory.networks.decoder import Transformer
from jaxtheory.networks.linen_module import LinenModule, real, stacked

TOKENS = jnp.array([[0, 1, 2], [2, 1, 0]])


def test_maps_are_ordered_by_layer_beyond_ten():
    deep = LinenModule("deep", lambda config: Transformer(3, 3, depth=11, heads=1, width=4))
    variables = deep.variables(jax.random.key(0), TOKENS, None)
    query = variables["params"]["attention_10"]["query"]
    query["kernel"], query["bias"] = jnp.zeros((4, 4)), jnp.zeros(4)
    maps = deep.maps(variables, TOKENS, None)
    assert maps.shape == (11, 2, 1, 3, 3)
    uniform = [np.allclose(layer[:, :, 2], 1 / 3, atol=1e-12) for layer in maps]
    assert uniform == [False] * 10 + [True]


def test_a_module_that_sows_nothing_has_no_maps():
    plain = LinenModule("plain", lambda config: nn.Embed(3, 3))
    variables = plain.variables(jax.random.key(0), TOKENS, None)
    assert plain.maps(variables, TOKENS, None) is None
    outputs, state = plain.run(variables, TOKENS, None)
    assert state == {} and outputs.dtype == jnp.float64


def test_each_stream_and_each_layer_draws_other_numbers_in_each_step():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            if not train:
                return x
            drawn = [nn.Dropout(0.5, deterministic=False)(x) for _ in range(2)]
            drawn.append(nn.Dropout(0.5, rng_collection="other", deterministic=False)(x))
            keys = [self.make_rng(name) for name in ("dropout", "noise", "noise", "mixup")]
            return jnp.stack([*drawn, *(jax.random.bernoulli(k, 0.5, x.shape) * x for k in keys)])

    network, x = LinenModule("net", lambda config: Net()), jnp.ones(64)
    variables = network.variables(jax.random.key(0), x, None)
    masks = [network.run(variables, x, None, jax.random.key(k))[0] > 0 for k in (1, 2)]
    assert len(np.unique(np.concatenate(masks), axis=0)) == 14


def test_integers_and_odd_maps_are_refused():
    with pytest.raises(InputError, match=r"mine: its variable cache.index holds int64, but the"):
        real("mine", {"cache": {"index": jnp.array(3)}})
    with pytest.raises(InputError, match=r"mine: it sows attention maps of shapes \(2, 3\), but"):
        stacked("mine", [jnp.ones((2, 3))])
    assert stacked("mine", []) is None
