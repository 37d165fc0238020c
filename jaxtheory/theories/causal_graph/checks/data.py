"""Checks of the stationary law, the information and the law of the prompts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.causal_graph import data
from jaxtheory.theories.causal_graph.checks import literal, material
from jaxtheory.theories.causal_graph.model import Config

GRAPHS = {  # parents that a graph may have, for each length
    "chain": lambda T: list(range(T)),
    "pairs": lambda T: [i if i % 2 else 0 for i in range(T)],
    "tree": lambda T: [(i + 1) // 2 for i in range(T)],
}


@check("stationary: linear equations", "derived", "equal")
def stationary_solved(key: Array, config: Config) -> Compared:
    """mu by the linear equations mu pi = mu, sum mu = 1."""
    if not material.is_unpadded(config):
        return None
    pi = material.transitions(key, 3, config)
    S = pi.shape[1]
    A = jnp.eye(S)[None] - pi.transpose(0, 2, 1) + 1
    want = jax.vmap(lambda A: linalg.solve(A, jnp.ones(S)))(A)
    return data.stationary(pi), want


@check("information: all prompts", material.PAPER, "equal")
def information_enumerated(key: Array, config: Config) -> Compared:
    """The information and the overlap from the joint law of two tokens, summed over all prompts."""
    S, T = Size.wrap(config.num_states).cap, Size.wrap(config.length).cap
    if not material.is_unpadded(config) or S**T > 300:
        return None
    pi = material.transitions(key, 2, config)
    mu = data.stationary(pi)
    parents = GRAPHS[config.graph](T)
    tables = []
    for n in range(2):
        prompts, weight = literal.joint(pi[n], mu[n], parents, False)
        s = np.array(prompts)
        I, G = jnp.zeros((T, T)), jnp.zeros((T, T))
        for i in range(T):
            for j in range(i + 1):
                P = jnp.zeros((S, S)).at[s[:, j], s[:, i]].add(weight)
                I = I.at[i, j].set(jnp.sum(P**2 / (mu[n][:, None] * mu[n][None, :])) - 1)
                G = G.at[i, j].set(jnp.sum(P * pi[n] / mu[n][None, :]) - 1)
        tables.append(jnp.stack([I, G]))
    got = data.information(pi, jnp.asarray(parents, jnp.int32), 2, config)
    return jnp.stack(got), (tables[0] + tables[1]) / 2
