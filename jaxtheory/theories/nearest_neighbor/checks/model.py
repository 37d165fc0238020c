"""Checks of the layer."""

import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.nearest_neighbor import calculus, model
from jaxtheory.theories.nearest_neighbor.checks import literal, material
from jaxtheory.theories.nearest_neighbor.model import Config


@check("loss: the source's matrix form, labels enumerated", material.PAPER, "equal")
def loss_dense(key: Array, config: Config) -> Compared:
    """The loss at W and at (xi1, xi2) against the source's form, with labels enumerated."""
    if not literal.dense(config):
        return None
    prompts, structured = material.prompts_of(key, config), material.setting(key, config)
    params = material.full(key, config), calculus.lift(structured, config)
    got = [model.loss(p, prompts, material.UNREAD, config) for p in (params[0], structured)]
    return jnp.stack(got), jnp.stack([literal.whole_loss(p, prompts, config) for p in params])


@check("squared_errors: without rearrangement", "derived", "equal")
def errors_without_cancellation(key: Array, config: Config) -> Compared:
    """Q - 2 s* + 1 by its definition, and (f - y_{i*})^2 where there are labels."""
    test = material.drawn(key, config)
    s = model.attend(material.setting(key, config), test, config)
    plain = jnp.sum(s[:-1] ** 2, axis=0) - 2 * model.picked(s[:-1], test) + 1
    got = [model.squared_errors(s, test._replace(y=None)), model.squared_errors(s, test)]
    real = test.weight > 0
    got = [jnp.where(real, g, 0) for g in got]
    return got, [
        jnp.where(real, plain, 0),
        material.deviations(material.setting(key, config), test, config) ** 2,
    ]


@check("logits: the query's is xi1 - xi2", "derived; the talk has -xi2", "equal")
def logits_of_query(key: Array, config: Config) -> Compared:
    """The logit h_q^T W h_q = xi1 |q|^2 - xi2 = xi1 - xi2, from W."""
    params, prompts = material.setting(key, config), material.prompts_of(key, config)
    query_logits = [model.logits(p, prompts)[-1] for p in (params, calculus.lift(params, config))]
    real = prompts.weight > 0
    return [jnp.where(real, z, 0) for z in query_logits], [
        jnp.where(real, params.xi1 - params.xi2, 0)
    ] * 2
