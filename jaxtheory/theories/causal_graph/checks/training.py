"""Checks of the algorithms."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.causal_graph import training
from jaxtheory.theories.causal_graph.checks import literal, material
from jaxtheory.theories.causal_graph.checks.model import weights
from jaxtheory.theories.causal_graph.model import Config, Params

STEPS = 3
RATES = {"two_stage": ((1, 0), (1, 0), (0, 1)), "joint": ((1, 1),) * STEPS}


def steps(name: str, key: Array, config: Config) -> Compared:
    """Three steps against autodiff of the layers with whole matrices.

    The second stage is from step 2 on.
    """
    if not material.is_unpadded(config):
        return None
    config = config.replace(learning_rate=0.7, second_rate=0.2, switch_step=2)
    batch, params = material.batch(key, config), weights(key, config)
    S, T = Size.wrap(config.num_states).cap, Size.wrap(config.length).cap
    problem = material.problem(batch, config)

    def loss(params: Params) -> Array:
        f = jax.vmap(lambda s: literal.output(params, s, S, T))(batch.s)
        return -jnp.mean(jnp.sum(batch.target * jnp.log(f + config.epsilon), axis=1))

    got = want = params
    for t in range(STEPS):
        got = getattr(training, name)(key, t, got, batch, problem, config)
        one, two = (rate * on for rate, on in zip((0.7, 0.2), RATES[name][t], strict=True))
        slope = jax.grad(loss)(want)
        want = Params(want.A1 - one * slope.A1, want.A2 - two * slope.A2)
    return got, want


CHECKS = tuple(
    Check(f"{name}: steps by autodiff", material.PAPER, "equal", partial(steps, name))
    for name in RATES
)
