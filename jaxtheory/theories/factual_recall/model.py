"""Factual recall by linear attention: config, parameters, forward pass and loss.

A prompt has T tokens in any order: a subject s, a relation r, and T - 2 noise tokens, each uniform
on N. c_v counts token v. Its answer is the fact a*(s, r), drawn once, uniform on the D answers of
the relation.

    f = Phi W E (u * c),   L = -mean log softmax(f)_{a*(s, r)}

Facts have the weights w_s / R with w_s proportional to s^-zeta, and each has n draws of noise. u
has one score for each token: the key and the query of the last token, merged. W is the value
matrix, E and Phi are embeddings of tokens and answers. With `onehot` embeddings E and Phi are
identities and W has a column for each token; with `random` ones W is [d, d], and E and Phi are
fixed with independent entries N(0, 1/d).

Answers stand in two axes, [R, D], and tokens in three blocks, subjects, relations and noise.

Symbols:

    S, R, D, N     subjects, relations, answers of a relation, noise tokens
    T, n           tokens of a prompt, draws of noise for each fact
    V, A           S + R + N tokens, R D answers
    alpha          scale of the start: W = alpha and u = alpha sqrt(A + 1) for onehot

Source: "Understanding Factual Recall in Transformers via Associative Memories" (arXiv 2412.06538),
of which the abstract and a summary by others were read. All formulas were derived.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, size, static, traced
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.texts.errors import InputError


class Config(fields.Config):
    """Hyper-parameters of the facts, the prompts, the model and its training."""

    num_subjects: Size = size(16, "S", "subjects")
    num_relations: Size = size(4, "R", "relations")
    num_answers: Size = size(8, "D", "answers of each relation")
    num_noise: Size = size(16, "N", "noise tokens")
    length: Size = size(6, "T", "tokens of a prompt", "[2, inf)")
    num_draws: Size = size(4, "n", "training prompts of each fact, and test prompts")
    dimension: Size = size(16, "d", "dimension of random embeddings")
    zipf: float = traced(0.0, "zeta", "exponent of the weights s^-zeta of subjects", "[0, inf)")
    embedding: str = static(
        "onehot", "embedding", "embeddings of tokens and answers", ("onehot", "random")
    )
    init_scale: float = traced(0.01, "alpha", "scale of the start, for onehot", "(0, inf)")
    learning_rate: float = traced(0.5, "eta", "learning rate", "(0, inf)")
    momentum: float = traced(0.9, "beta", "momentum, and Adam's first decay rate", "[0, 1)")
    decay_steps: int = traced(
        1000, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )


class Batch(NamedTuple):
    """Prompts of each fact; padded ones are zero."""

    answer: Int[Array, "S R"]  # a*(s, r), in [0, D)
    counts: Float[Array, "S R n N"]  # of the noise tokens
    weight: Float[Array, "S R n"]  # w_s / (R n), zero on padded prompts


class Embedding(NamedTuple):
    """The rows of E and Phi; not used with `onehot`."""

    subject: Float[Array, "S d"]
    relation: Float[Array, "R d"]
    noise: Float[Array, "N d"]
    answer: Float[Array, "R D d"]


class Problem(NamedTuple):
    """The prompts of training and test, with the same facts, and the embeddings."""

    train: Batch
    test: Batch
    embedding: Embedding


class Table(NamedTuple):
    """A number for each answer and token."""

    subject: Float[Array, "R D S"]
    relation: Float[Array, "R D R"]
    noise: Float[Array, "R D N"]


class Scores(NamedTuple):
    """A number for each token."""

    subject: Float[Array, " S"]
    relation: Float[Array, " R"]
    noise: Float[Array, " N"]


class Params(NamedTuple):
    """The value matrix, a table for onehot embeddings, and the scores of attention."""

    W: Table | Float[Array, "d d"]
    u: Scores


def init(_key: Array, _problem: Problem, config: Config) -> Params:
    """W = alpha and u = alpha sqrt(A + 1) for onehot embeddings; W = 0 and u = 1 for random ones.

    Softmax does not see a constant W, and u_v^2 - |W_v|^2 = alpha^2 (see `laws`). With random
    embeddings W has no column of a token that could be balanced with its score; from W = 0 nothing
    drawn interferes with the facts, and with u = 1 the layer starts as an associative memory.
    """
    R, D = Size.wrap(config.num_relations), Size.wrap(config.num_answers)
    tokens = [Size.wrap(n) for n in (config.num_subjects, R, config.num_noise)]
    alpha = jnp.asarray(config.init_scale, float)
    if config.embedding == "random":
        d = Size.wrap(config.dimension).cap
        return Params(jnp.zeros((d, d)), Scores(*(n.mask().astype(float) for n in tokens)))
    score = alpha * jnp.sqrt(jnp.asarray(R.real * D.real, float) + 1)
    full = lambda *axes: draws.masked(jnp.ones([n.cap for n in axes]), *axes)
    W = Table(*(alpha * full(R, D, n) for n in tokens))
    return Params(W, Scores(*(score * full(n) for n in tokens)))


def subject_weights(config: Config) -> Float[Array, " S"]:
    """w_s = s^-zeta / sum_s s^-zeta."""
    S = Size.wrap(config.num_subjects)
    s = 1 + indices(S.cap).astype(float)
    w = draws.masked(jnp.exp(-jnp.asarray(config.zipf, float) * jnp.log(s)), S)
    return w / jnp.sum(w)


def table(params: Params, problem: Problem) -> Table:
    """Phi W E, in blocks."""
    if isinstance(params.W, Table):
        return params.W
    e = problem.embedding
    left = e.answer @ params.W
    return Table(*(left @ E.T for E in (e.subject, e.relation, e.noise)))


def targets(batch: Batch, config: Config) -> Bool[Array, "S R A"]:
    """True at the right answer."""
    R, D = Size.wrap(config.num_relations).cap, Size.wrap(config.num_answers).cap
    right = indices(R)[None, :] * D + batch.answer
    return right[:, :, None] == indices(R * D)[None, None, :]


def answers(config: Config) -> Bool[Array, " A"]:
    """True at answers within the sizes."""
    R, D = Size.wrap(config.num_relations), Size.wrap(config.num_answers)
    return (R.mask()[:, None] & D.mask()[None, :]).reshape(-1)


def logits(M: Table, u: Scores, batch: Batch) -> Float[Array, "S R n A"]:
    """f of each prompt for M = Phi W E."""
    of = lambda block, score: (block * score[None, None, :]).reshape(-1, len(score)).T
    subject, relation, noise = (of(*pair) for pair in zip(M, u, strict=True))
    counted = batch.counts @ noise
    return subject[:, None, None, :] + relation[None, :, None, :] + counted


def log_probabilities(
    params: Params, batch: Batch, problem: Problem, config: Config
) -> Float[Array, "S R n A"]:
    """log softmax(f) of each prompt; -inf at padded answers."""
    fit(params, batch, config)
    f = logits(table(params, problem), params.u, batch)
    return jax.nn.log_softmax(jnp.where(answers(config)[None, None, None, :], f, -jnp.inf))


def cross_entropy(log_p: Float[Array, "S R n A"], batch: Batch, config: Config) -> Float[Array, ""]:
    """-sum over prompts of their weight times log p of the right answer."""
    right = jnp.where(targets(batch, config)[:, :, None, :], log_p, 0)
    used = jnp.where(batch.weight > 0, batch.weight * jnp.sum(right, axis=3), 0)
    return -jnp.sum(used)


def loss(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """L = -mean over prompts of log softmax(f)_{a*(s, r)}, in nats."""
    return cross_entropy(log_probabilities(params, batch, problem, config), batch, config)


def fit(params: Params, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, {}, params=params, batch=batch)


def attention_map(params: Params, _problem: Problem, _config: Config) -> Array:
    """Linear attention has no map of weights that sum to 1."""
    raise InputError("linear attention has no attention map; look at the metric `relation_score`")
