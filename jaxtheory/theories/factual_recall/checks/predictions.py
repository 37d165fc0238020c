"""Checks of the metrics at parameters whose answers are written down."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.factual_recall import data, predictions
from jaxtheory.theories.factual_recall.checks import laws, material
from jaxtheory.theories.factual_recall.model import Config


@check("metrics: a layer that knows relations", "derived", "equal")
def metrics_on_the_plateau(key: Array, config: Config) -> Compared:
    """With softmax = p(.|r) all mass is on the relation's answers, and sum_a p(a|r)^2 is right.

    The answers of the subject to other relations have none. The right answer has the only largest
    output where no answer of the relation is as frequent.
    """
    if laws.unfit(config):
        return None
    config = config.replace(zipf=0.0)  # the mean over subjects is then that of the weights
    problem = data.problem(key, config)
    known = material.knowing_relations(problem, config)
    metrics = predictions.metrics(known, problem, config)
    curves = predictions.predict(problem, config, np.arange(1))
    right, loss = curves["right:relation"][0], curves["loss:relation"][0]
    answer = problem.train.answer
    often = jnp.sum(answer[:, None, :] == answer[None, :, :], axis=1)  # of each fact's answer
    rivals = (answer[:, None, :] != answer[None, :, :]) & (often[None] >= often[:, None])
    top = jnp.mean((~jnp.any(rivals, axis=1)).astype(float))
    columns = jnp.concatenate([jnp.sum(block**2, axis=(0, 1)) for block in known.W])
    gap = jnp.abs(1 - columns - jnp.asarray(config.init_scale, float) ** 2)
    want = {
        "loss": loss,
        "test_loss": loss,
        "accuracy": top,
        "test_accuracy": top,
        "relation_mass": 1,
        "subject_mass": right,
        "right": right,
        "hallucination": 1 - right,
        "right_given_relation": right,
        "relation_score": 1,
        "subject_score": 1,
        "noise_score": 1,
        "conserved": jnp.max(gap) / (1 + jnp.max(columns)),
    }
    got = [metrics[name] for name in want] + [jnp.mean(metrics["recalled"])]
    return jnp.stack(got), jnp.stack([*(jnp.asarray(x, float) for x in want.values()), right])
