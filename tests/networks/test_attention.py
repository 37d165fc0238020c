"""A module of your own that can be looked into."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from helpers.parent_head import K, N

import jaxtheory
from jaxtheory import InputError, networks, tasks


class Mean(nn.Module):
    """One head that reads the mean of all tokens, by Linen."""

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(K + 1, 8)(tokens)
        maps = jnp.full((len(x), 1, N, N), 1 / N)
        return nn.Dense(K)(networks.attend(self, maps, x[:, :, None])[:, :, 0])


class NnxMean(nnx.Module):
    """The same by NNX."""

    def __init__(self, rngs):
        self.embed, self.head = nnx.Embed(K + 1, 8, rngs=rngs), nnx.Linear(8, K, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        maps = jnp.full((len(x), 1, N, N), 1 / N)
        return self.head(networks.attend(self, maps, x[:, :, None])[:, :, 0])


@pytest.mark.parametrize(
    "module", [lambda config: Mean(), lambda config, rngs: NnxMean(rngs)], ids=["linen", "nnx"]
)
def test_ones_own_module_is_looked_into(module):
    config = tasks.random_walk.Config(num_states=K, length=N, num_sequences=8, num_test=64)
    theory = jaxtheory.from_flax(
        "mean", module, tasks.random_walk, optimizer=lambda c: optax.sgd(0.1), examples=(config,)
    )
    problem = theory.problem(jaxtheory.run_key(0, 1), config)
    params = theory.init(jax.random.key(1), problem, config)
    loss_without = networks.intervene(theory, networks.ablate(0, 0))
    loss, changed = (t.metrics(params, problem, config)["loss"] for t in (theory, loss_without))
    effects = networks.edge_effects(theory)(params, problem, config)
    assert loss != changed and effects.shape == (N,) and np.abs(effects[:-1]).min() > 0
    assert effects[-1] == pytest.approx(0, abs=1e-6)  # the token of the query is always the same


def test_a_network_without_the_place_is_refused():
    class Blind(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            return nn.Dense(K)(nn.Embed(K + 1, 4)(tokens))

    theory = jaxtheory.from_flax(
        "blind", lambda c: Blind(), tasks.random_walk, optimizer=lambda c: optax.sgd(0.1)
    )
    config = theory.Config()
    problem = theory.problem(jaxtheory.run_key(0, 1), config)
    params = theory.init(jax.random.key(1), problem, config)
    with pytest.raises(InputError, match=r"does not read by jaxtheory\.networks\.attend"):
        networks.intervene(theory, networks.ablate(0, 0)).metrics(params, problem, config)
