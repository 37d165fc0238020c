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

    The answers of the subject to other relations have none.
    """
    if laws.unfit(config):
        return None
    config = config.replace(zipf=0.0)  # the mean over subjects is then that of the weights
    problem = data.problem(key, config)
    metrics = predictions.metrics(material.knowing_relations(problem, config), problem, config)
    right = predictions.predict(problem, config, np.arange(1))["right:relation"][0]
    names = "relation_mass right hallucination right_given_relation subject_mass".split()
    got = jnp.stack([metrics[name] for name in names] + [jnp.mean(metrics["recalled"])])
    return got, jnp.stack([jnp.ones(()), right, 1 - right, right, right, right])
