"""A module is told its mode by any of its names, and a layer that is off in training is refused."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxtheory import InputError
from jaxtheory.networks import modes
from jaxtheory.networks.linen_module import LinenModule
from jaxtheory.networks.nnx_module import NnxModule

X = jnp.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
WORDS = {
    "train": lambda self, x, train=False: self.run(x, train),
    "training": lambda self, x, training=False: self.run(x, training),
    "is_training": lambda self, x, *, is_training: self.run(x, is_training),
    "deterministic": lambda self, x, deterministic=True: self.run(x, not deterministic),
    "use_running_average": lambda self, x, use_running_average: self.run(
        x, not use_running_average
    ),
}


def linen(call):
    class Net(nn.Module):
        __call__ = nn.compact(call)

        def run(self, x, train):
            x = nn.BatchNorm(use_running_average=not train)(x)
            return nn.Dropout(0.5, deterministic=not train)(x)

    return LinenModule("net", lambda config: Net())


def in_nnx(call):
    class Net(nnx.Module):
        def __init__(self, rngs):
            self.norm, self.dropout = nnx.BatchNorm(4, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

        __call__ = call

        def run(self, x, train):
            x = self.norm(x, use_running_average=not train)
            return self.dropout(x, deterministic=not train)

    return NnxModule("net", lambda config, rngs: Net(rngs))


def run_modes(network):
    """The outputs in evaluation and in training, and the state after each."""
    variables = network.variables(jax.random.key(0), X, None)
    return [network.run(variables, X, None, key) for key in (None, jax.random.key(1))]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("network", [linen, in_nnx])
def test_the_mode_has_five_names(word, network):
    (still, before), (moving, after) = run_modes(network(WORDS[word]))
    assert np.count_nonzero(still) == 24 and 4 < np.count_nonzero(moving) < 20
    same = jax.tree.map(np.array_equal, before, after)
    assert not any(jax.tree.leaves(same))


def test_an_argument_that_is_not_known_is_named():
    with pytest.raises(InputError, match="net: its __call__ needs the argument is_test, but it"):
        run_modes(linen(lambda self, x, is_test: self.run(x, not is_test)))
    assert modes.arguments("net", lambda self, x, *args, scale=1.0, **more: x, True) == {}


class Over(nn.Module):
    """A module whose mode is not passed on to its layer."""

    layer: nn.Module

    @nn.compact
    def __call__(self, x, train):
        return self.layer(x)


OFF = {
    "another name": linen(lambda self, x, learning=False: self.run(x, learning)),
    "another name in nnx": in_nnx(lambda self, x, learning=False: self.run(x, learning)),
    "a constant": LinenModule("net", lambda config: Over(nn.Dropout(0.5, deterministic=True))),
    "not passed on": LinenModule(
        "net", lambda config: nn.Sequential([nn.Dense(4), nn.BatchNorm(use_running_average=True)])
    ),
    "attention": LinenModule(
        "net",
        lambda config: Over(
            nn.MultiHeadDotProductAttention(2, dropout_rate=0.5, deterministic=True)
        ),
    ),
}


@pytest.mark.parametrize("case", OFF)
def test_a_layer_that_is_off_in_training_is_refused(case):
    match = {
        "another name": r"net: the layer BatchNorm_0 is off in a training step "
        r"\(use_running_average is True\); let __call__ take the mode as train, training",
    }
    with pytest.raises(InputError, match=match.get(case, "net: the layer .* is off in a training")):
        run_modes(OFF[case])


@pytest.mark.parametrize("kind", ["linen", "nnx"])
def test_dropout_of_no_unit_may_be_off(kind):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dropout(0.0, deterministic=True)(x)

    class Again(nnx.Module):
        def __init__(self, rngs):
            self.dropout = nnx.Dropout(0.0, rngs=rngs)

        def __call__(self, x):
            return self.dropout(x)

    linen, again = (lambda config: Net()), (lambda config, rngs: Again(rngs))
    network = LinenModule("net", linen) if kind == "linen" else NnxModule("net", again)
    (still, _), (moving, _) = run_modes(network)
    np.testing.assert_array_equal(still, moving)
