"""The task of `factual_recall`: answer with the fact of the subject and the relation of a prompt.

The network sees the T tokens of a prompt in random order, and an end token. Tokens are numbered
from 0: subjects, relations, noise, and the end. Its R D outputs at the end are logits. A batch has
n prompts of each fact, as in the theory.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.core.task import Task
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.factual_recall import data, laws, model
from jaxtheory.theories.factual_recall.model import Config


class Batch(NamedTuple):
    """Prompts; the numbers of padded ones are zero."""

    tokens: Int[Array, "B T+1"]
    subject: Int[Array, " B"]  # its place in the prompt
    relation: Int[Array, " B"]
    answer: Int[Array, " B"]  # r D + a*(s, r)
    weight: Float[Array, " B"]


class Problem(NamedTuple):
    """Training and test prompts, and the theory's batch of the same facts."""

    train: Batch
    test: Batch
    facts: model.Batch


def problem(key: Array, config: Config) -> Problem:
    """Draw the theory's facts and noise tokens, and put the tokens of each prompt in order."""
    facts = data.problem(key, config).train
    _, for_train, for_test, _ = jax.random.split(key, 4)  # those of `data.problem`
    train, test = (prompts(k, facts.answer, config) for k in (for_train, for_test))
    return Problem(train, test, facts)


def prompts(key: Array, facts: Int[Array, "S R"], config: Config) -> Batch:
    """Draw n prompts of each fact."""
    S, R, n, T = (
        Size.wrap(x)
        for x in (config.num_subjects, config.num_relations, config.num_draws, config.length)
    )
    first_relation, first_noise = S.cap, S.cap + R.cap  # the numbers of the first of each
    place, many = indices(T.cap), (S.cap, R.cap, n.cap)
    s, r = indices(S.cap)[:, None, None, None], indices(R.cap)[None, :, None, None]
    named = jnp.where(place == 0, s, first_relation + r)
    noise = first_noise + data.tokens(key, config)
    tokens = jnp.where(place[None, None, None, :] < 2, named, noise)
    drawn = draws.uniform(jax.random.fold_in(key, 1), S, R, n, T)
    order = jnp.argsort(jnp.where(T.mask()[None, None, None, :], drawn, jnp.inf), axis=3)
    ordered = jnp.take_along_axis(tokens, order, axis=3)
    valid = jnp.broadcast_to(T.mask(), ordered.shape)
    ends = jnp.pad(jnp.where(valid, ordered, 0), ((0, 0),) * 3 + ((0, 1),))
    whole = jnp.where(indices(T.cap + 1)[None, None, None, :] == T.n, end(config), ends)
    answer = indices(R.cap)[None, :] * Size.wrap(config.num_answers).cap + facts
    flat = lambda x: draws.masked(x, S, R, n).reshape(-1, *x.shape[3:])
    return Batch(
        flat(whole),
        flat(_place(order == 0, 3)),
        flat(_place(order == 1, 3)),
        flat(jnp.broadcast_to(answer[:, :, None], many)),
        data.weights(config).reshape(-1),
    )


def _place(values: Array, axis: int) -> Int[Array, "..."]:
    return jnp.argmax(values, axis=axis).astype(jnp.int32)


def _at(place: Int[Array, " B"], batch: Batch) -> Bool[Array, "B T+1"]:
    return indices(batch.tokens.shape[1])[None, :] == place[:, None]


def end(config: Config) -> int:
    """The number of the end token, the last of the vocabulary."""
    kinds = config.num_subjects, config.num_relations, config.num_noise
    return sum(Size.wrap(x).cap for x in kinds)


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """Return the fixed training prompts."""
    return problem.train


def fresh(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw n new prompts of each fact."""
    return prompts(key, problem.facts.answer, config)


def inputs(batch: Batch, _problem: Problem, _config: Config) -> Int[Array, "B T+1"]:
    """The tokens of each prompt and the end."""
    return batch.tokens


def log_probabilities(outputs: Float[Array, "B L A"], config: Config) -> Float[Array, "B A"]:
    """log softmax of the outputs at the end, -inf at padded answers."""
    f = answers.at_last(outputs, Size.wrap(config.length).n + 1)
    return jax.nn.log_softmax(jnp.where(model.answers(config)[None, :], f, -jnp.inf), axis=1)


def loss(
    outputs: Float[Array, "B L A"], batch: Batch, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """The mean of -log softmax(f) at the right answer, with the weights of the facts, in nats."""
    log_p = log_probabilities(outputs, config)
    right = jnp.take_along_axis(log_p, batch.answer[:, None], axis=1)[:, 0]
    return -jnp.sum(jnp.where(batch.weight > 0, batch.weight * right, 0))


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the test prompts.

    loss                mean of -log softmax(f) at the right answer
    accuracy            share of prompts whose right answer has the largest output
    relation_mass       mean probability of the D answers of the relation
    subject_attention   attention of the end to the subject: the largest over heads and layers of
                        its mean; NaN for a network without attention maps
    relation_attention  the same to the relation
    """
    test, D = problem.test, Size.wrap(config.num_answers).cap
    f = outputs(test)
    log_p, attention = log_probabilities(f, config), maps(test)
    own = indices(log_p.shape[1])[None, :] // D == test.answer[:, None] // D
    mass = jnp.sum(jnp.where(own, jnp.exp(log_p), 0), axis=1)
    right = (_place(log_p, 1) == test.answer).astype(f.dtype)
    T = Size.wrap(config.length)
    to = lambda place: answers.on(attention, _at(place, test), test.weight, T.n + 1)
    return {
        "loss": loss(f, test, problem, config),
        "accuracy": jnp.sum(test.weight * right),
        "relation_mass": jnp.sum(test.weight * mass),
        "subject_attention": to(test.subject),
        "relation_attention": to(test.relation),
    }


def optimal(_problem: Problem, _config: Config) -> dict[str, Float[Array, ""]]:
    """Loss 0 and accuracy 1: the subject and the relation determine the answer.

    The loss is an infimum, which no finite output reaches.
    """
    return {"loss": jnp.zeros(()), "accuracy": jnp.ones(())}


def edges(batch: Batch, _problem: Problem, _config: Config) -> Bool[Array, "B T+1 T+1"]:
    """From each position to the subject and the relation, but from none to itself."""
    place = indices(batch.tokens.shape[1])
    named = _at(batch.subject, batch) | _at(batch.relation, batch)
    used = (batch.weight > 0)[:, None, None]
    return used & named[:, None, :] & (place[:, None] != place[None, :])[None]


def optimal_without(_information: str, problem: Problem, config: Config) -> Float[Array, ""]:
    """log R + (1/R) sum_r H(p(.|r)), without the prompt, and without subject and relation.

    It is the entropy of the answer, as relations are uniform and no two share an answer. Noise and
    the order of tokens are independent of the fact.
    """
    levels = laws.levels(problem.facts, config)
    return levels.subject + levels.relation


TASK = Task(
    name="factual_recall",
    Config=Config,
    problem=problem,
    sample=sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: int(model.answers(config).shape[0]),
    vocabulary=lambda config: end(config) + 1,
    metrics=metrics,
    optimal=optimal,
    fresh=fresh,
    edges=edges,
    optimal_without=optimal_without,
)
