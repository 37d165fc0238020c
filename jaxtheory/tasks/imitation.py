"""The task of `attention_pruning`: imitate the attention layer that the theory prunes.

The theory has no labels: it prunes the weights W of a given attention f* on inputs X. Its task is
therefore to output f* X, what that layer carries to each position. A network that has learned it
has query and key matrices of its own, which can be pruned as those of the theory.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core.config import Size
from jaxtheory.core.task import Task
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.attention_pruning import data, model
from jaxtheory.theories.attention_pruning.model import Batch, Config, Problem


def inputs(batch: Batch, _problem: Problem, _config: Config) -> Float[Array, "S L d"]:
    """The inputs X."""
    return batch.inputs


def teacher(x: Float[Array, "S L d"], problem: Problem) -> Float[Array, "S L L"]:
    """f*, the attention of the dense weights, for any number of sequences."""
    mask = jnp.broadcast_to(problem.attention_mask, (len(x), *problem.attention_mask.shape))
    return model.attention(problem.weights, x, mask)


def errors(
    outputs: Float[Array, "S L d"], x: Float[Array, "S L d"], problem: Problem, config: Config
) -> Float[Array, " S"]:
    """1/2 |output - f* X|^2, averaged over the positions of each sequence."""
    gap = jnp.where(config.length.mask()[None, :, None], outputs - teacher(x, problem) @ x, 0)
    gap = jnp.where(config.dimension.mask()[None, None, :], gap, 0)
    return jnp.sum(gap**2, axis=(1, 2)) / (2 * jnp.asarray(config.length.real, float))


def loss(
    outputs: Float[Array, "S L d"], batch: Batch, problem: Problem, config: Config
) -> Float[Array, ""]:
    """The mean of `errors` over the sequences."""
    weight = config.num_sequences.weights()
    return jnp.sum(weight * errors(outputs, batch.inputs, problem, config))


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the held-out sequences.

    loss               1/2 mean |output - f* X|^2 over the positions
    relative_error     the loss over that of the output 0
    attention_overlap  mean over queries of sum_j min(f*_ij, A_ij) with the attention A of a head,
                       in [0, 1]: the largest over heads and layers; NaN for a network without maps
    """
    x, L = problem.heldout, config.length
    weight = Size(len(x)).weights()
    mean = lambda prediction: jnp.sum(weight * errors(prediction, x, problem, config))
    error, baseline = mean(outputs(Batch(x))), mean(jnp.zeros_like(x))
    attention_maps, overlap = maps(Batch(x)), jnp.asarray(jnp.nan)
    if attention_maps is not None:
        common = jnp.minimum(attention_maps, teacher(x, problem)[None, :, None])
        valid = (L.mask()[:, None] & L.mask()[None, :])[None, None, None]
        overlaps = jnp.sum(jnp.where(valid, common, 0), axis=(3, 4)) / jnp.asarray(L.real, float)
        overlap = jnp.max(jnp.einsum("lbh,b->lh", overlaps, weight))
    return {
        "loss": error,
        "relative_error": error / baseline,
        "attention_overlap": overlap,
    }


def optimal(_problem: Problem, _config: Config) -> dict[str, Float[Array, ""]]:
    """0: the target is a function of the inputs."""
    return {"loss": jnp.zeros(())}


def fresh(key: Array, _problem: Problem, config: Config) -> Batch:
    """Draw S new sequences for the same weights."""
    return Batch(data.problem(key, config).inputs)


def edges(batch: Batch, problem: Problem, _config: Config) -> Bool[Array, "S L L"]:
    """From each query to the key with the largest f* of its row, unless that is itself."""
    f, place = teacher(batch.inputs, problem), indices(batch.inputs.shape[1])
    largest = place[None, None, :] == jnp.argmax(f, axis=2).astype(jnp.int32)[:, :, None]
    return largest & (f > 0) & (place[None, :] != place[:, None])[None]


def optimal_without(information: str, problem: Problem, config: Config) -> Float[Array, ""]:
    """Losses on the held-out sequences of the best answers without the prompt, or one key.

    Without the prompt it is 0, since f* is even in X and f* X odd. Its loss is 1/2 mean |f* X|^2.

    Without the key m of `edges`, position i is assumed to know its row of f* and the other tokens.
    It then knows x_m along W^T x_i. The other d - 1 directions are N(0, 1), and the loss is
    (d - 1)/2 mean f*_im^2, with 0 where m = i.
    """
    x, L = problem.heldout, config.length
    weight = Size(len(x)).weights()
    if information == "prompt":
        return jnp.sum(weight * errors(jnp.zeros_like(x), x, problem, config))
    lost = jnp.where(edges(Batch(x), problem, config), teacher(x, problem) ** 2, 0)
    unknown = jnp.asarray(config.dimension.real, float) - 1
    squares = jnp.sum(weight * jnp.sum(lost, axis=(1, 2)))
    return unknown * squares / (2 * jnp.asarray(L.real, float))


TASK = Task(
    name="attention_pruning",
    Config=Config,
    problem=data.problem,
    sample=data.sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: int(config.dimension.cap),
    vocabulary=lambda config: None,
    metrics=metrics,
    optimal=optimal,
    fresh=fresh,
    edges=edges,
    optimal_without=optimal_without,
)
