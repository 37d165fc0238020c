"""Check of the loss against its one-hot form."""

from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.contextual_bigram import model
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


@check("loss: one-hot matrices, sample by sample", "equation (3)", "equal")
def loss_one_hot(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The loss with one-hot matrices, at columns of A with any sum."""
    params, batch = material.loose(params), material.random_batch(key, config)
    return model.loss(params, batch, problem, config), literal.loss(params, batch, config)
