"""The gradient of the loss in closed form."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import attention
from jaxtheory.ops.states import at_state
from jaxtheory.theories.causal_graph import model
from jaxtheory.theories.causal_graph.model import Batch, Config, Forward, Params, Problem


def gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of L.

    With w the weight of a prompt and b_j = A2[s_j, s_T],

    r_k = -w pi(k|s_T) / (f_k + eps),   q_i = r_{s_i},   sum_i a_i q_i = sum_k r_k f_k
    dL/dz = (diag a - a a^T) q,   dL/dW_ij = sum over prompts of dL/dz_i b_j
    dL/dA1_i. = (diag W_i - W_i W_i^T) dL/dW_i.
    dL/dA2[k, l] = sum over prompts with s_T = l of sum_{i, j: s_j = k} dL/dz_i W_ij
    """
    forward = model.forward(params, batch, config)
    dz = of_logits(forward, batch, config)
    states = Size.wrap(config.num_states)
    dA2 = model.by_state(forward.W.T @ dz, batch.s.T, states) @ model.queries(batch, states).T
    return Params(attention.softmax_vjp(forward.W, dz @ forward.b.T), dA2)


def of_logits(forward: Forward, batch: Batch, config: Config) -> Float[Array, "T P"]:
    """dL/dz for each prompt."""
    r = -batch.weight[None, :] * batch.target.T / (forward.f + config.epsilon)
    mean = jnp.sum(r * forward.f, axis=0, keepdims=True)
    return forward.a * (at_state(r, batch.s.T, axis=0) - mean)
