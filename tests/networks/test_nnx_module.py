"""An NNX module as functions: variables, maps, precision, and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxtheory.networks.linen_module import streams
from jaxtheory.networks.nnx_module import NnxModule

TOKENS = jnp.array([[0, 1, 2], [2, 1, 0]])


class Layer(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        maps = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", self.dense(x), x))[:, None]
        self.sow(nnx.Intermediate, "attention", maps)
        return x + jnp.einsum("bhqk,bkd->bqd", maps, x)


class Stack(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(3, 4, rngs=rngs)
        self.layers = nnx.List([Layer(rngs) for _ in range(11)])
        self.shift = jnp.array(2.0)  # an array that is not a variable stays as it is

    def __call__(self, tokens, train):
        x = self.embed(tokens) + self.shift.astype(float) * train
        for layer in self.layers:
            x = layer(x)
        return x


STACK = NnxModule("stack", lambda config, rngs: Stack(rngs))


def test_maps_are_ordered_by_layer_beyond_ten():
    variables = STACK.variables(jax.random.key(0), TOKENS, None)
    assert list(variables) == ["params"]
    dense = variables["params"]["layers"][10]["dense"]
    dense["kernel"], dense["bias"] = jnp.zeros((4, 4)), jnp.zeros(4)
    maps = STACK.maps(variables, TOKENS, None)
    assert maps.shape == (11, 2, 1, 3, 3)
    uniform = [np.allclose(layer, 1 / 3, atol=1e-12) for layer in maps]
    assert uniform == [False] * 10 + [True]


def test_the_call_is_told_if_it_trains_and_runs_in_float64():
    variables = STACK.variables(jax.random.key(0), TOKENS, None)
    still, state = STACK.run(variables, TOKENS, None)
    moving, _ = STACK.run(variables, TOKENS, None, jax.random.key(1))
    assert state == {} and still.dtype == jnp.float64
    assert not np.allclose(still, moving)
    exact = jax.tree.map(lambda x: x + 1e-12, variables)
    assert not np.array_equal(STACK.run(exact, TOKENS, None)[0], still)


def test_another_key_draws_other_parameters():
    one, two = (STACK.variables(jax.random.key(k), TOKENS, None) for k in (0, 1))
    kernels = [x["params"]["layers"][0]["dense"]["kernel"] for x in (one, two)]
    assert not np.array_equal(*kernels)


class Noisy(nnx.Module):
    """Draws of several layers and streams, as masks of its inputs."""

    def __init__(self, rngs):
        self.first = nnx.Dropout(0.5, rng_collection="noise", rngs=rngs)
        self.layers = nnx.List([nnx.Dropout(0.5, rngs=rngs) for _ in range(3)])
        self.other = nnx.Dropout(0.5, rng_collection="other", rngs=rngs)
        self.rngs = rngs

    def __call__(self, x, train):
        if not train:
            return x
        masks = [layer(x) for layer in (self.first, *self.layers, self.other)]
        keys = [self.rngs.dropout(), self.rngs.noise(), self.rngs(), self.rngs.noise()]
        return jnp.stack([*masks, *(jax.random.bernoulli(k, 0.5, x.shape) * x for k in keys)])


def test_each_stream_and_each_layer_draws_other_numbers_in_each_step():
    network, x = NnxModule("noisy", lambda config, rngs: Noisy(rngs)), jnp.ones(64)
    variables = network.variables(jax.random.key(0), x, None)
    masks = [network.run(variables, x, None, jax.random.key(k))[0] > 0 for k in (1, 2)]
    assert len(np.unique(np.concatenate(masks), axis=0)) == 18
    keys = streams(jax.random.key(1))  # a counter of the stream `dropout` never gives the other key
    early = [jax.random.fold_in(keys["dropout"], n) for n in range(1000)]
    words = np.array([jax.random.key_data(k) for k in (keys["default"], *early)])
    assert len(np.unique(words, axis=0)) == 1001
