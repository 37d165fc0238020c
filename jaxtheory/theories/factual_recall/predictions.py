"""Metrics along training, and the theory's levels, growth and conditions."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import sizes
from jaxtheory.theories.factual_recall import laws, model
from jaxtheory.theories.factual_recall.model import Config, Params, Problem, Table


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """Return the metrics. Means are over training prompts with their weights.

    loss                  loss on the training prompts
    test_loss             loss on the test prompts, which have other noise
    accuracy              share of training prompts whose right answer has the only largest output
    test_accuracy         the same of the test prompts
    relation_mass         mean probability of the D answers of the relation
    subject_mass          mean probability of the answers of the subject to all R relations
    right                 mean probability of the right answer
    hallucination         relation_mass minus right: wrong answers of the relation
    right_given_relation  mean of the right answer's share of the probability of the relation's
    recalled              for each subject, the mean probability of its right answers
    relation_score        mean of u over the relations
    subject_score         mean of u over the subjects
    noise_score           mean of u over the noise tokens
    conserved             onehot: largest |u_v^2 - |W_v|^2 - alpha^2| of a token v; random:
                          |sum u_v^2 - V - |W|^2|; over the largest, or the sum, of u_v^2 + |W_v|^2
    """
    train, test = problem.train, problem.test
    log_p = model.log_probabilities(params, train, problem, config)
    test_log_p = model.log_probabilities(params, test, problem, config)
    S, R, D, n, N = (
        Size.wrap(x)
        for x in (
            config.num_subjects,
            config.num_relations,
            config.num_answers,
            config.num_draws,
            config.num_noise,
        )
    )
    target = model.targets(train, config)
    p, right = jnp.exp(log_p), target[:, :, None, :]
    mean = lambda x: jnp.sum(train.weight * x)
    own_relation = jnp.any(target.reshape(S.cap, R.cap, R.cap, D.cap), axis=3)
    relation = jnp.repeat(own_relation, D.cap, axis=2)[:, :, None, :]
    has = target & R.mask()[None, :, None]
    subject = jnp.any(has, axis=1)[:, None, None, :]
    mass = lambda where: jnp.sum(jnp.where(where, p, 0), axis=3)
    of_right, of_relation = mass(right), mass(relation)
    recalled = sizes.mean(of_right.transpose(1, 2, 0), R, n)
    share = jnp.exp(jnp.log(of_right) - jnp.log(of_relation))
    return {
        "loss": model.cross_entropy(log_p, train, config),
        "test_loss": model.cross_entropy(test_log_p, test, config),
        "accuracy": mean(_is_top(log_p, right)),
        "test_accuracy": jnp.sum(test.weight * _is_top(test_log_p, right)),
        "relation_mass": mean(of_relation),
        "subject_mass": mean(mass(subject)),
        "right": mean(of_right),
        "hallucination": mean(of_relation - of_right),
        "right_given_relation": mean(jnp.where(train.weight > 0, share, 0)),
        "recalled": jnp.where(S.mask(), recalled, jnp.nan),
        "relation_score": sizes.mean(params.u.relation, R),
        "subject_score": sizes.mean(params.u.subject, S),
        "noise_score": sizes.mean(params.u.noise, N),
        "conserved": imbalance(params, config),
    }


def _is_top(
    log_p: Float[Array, "S R n A"], right: Float[Array, "S R n A"] | Array
) -> Float[Array, "S R n"]:
    """1 where the right answer has the only largest output."""
    own = jnp.sum(jnp.where(right, log_p, 0), axis=3)
    return (own > jnp.max(jnp.where(right, -jnp.inf, log_p), axis=3)).astype(log_p.dtype)


def imbalance(params: Params, config: Config) -> Float[Array, ""]:
    """The relative change, since the start, of what the flow conserves; see `metrics`."""
    squares = jnp.concatenate([u**2 for u in params.u])
    if not isinstance(params.W, Table):
        V = sum(
            jnp.asarray(Size.wrap(x).real, float)
            for x in (config.num_subjects, config.num_relations, config.num_noise)
        )
        one, two = jnp.sum(squares), jnp.sum(params.W**2)
        return jnp.abs(one - V - two) / (one + two)
    columns = jnp.concatenate([jnp.sum(block**2, axis=(0, 1)) for block in params.W])
    tokens = config.num_subjects, config.num_relations, config.num_noise
    valid = jnp.concatenate([Size.wrap(x).mask() for x in tokens])
    gap = jnp.abs(squares - columns - jnp.asarray(config.init_scale, float) ** 2)
    return jnp.max(jnp.where(valid, gap, 0)) / jnp.max(squares + columns)


def coords(config: Config) -> dict:
    """The subjects, counted from 1 in the order of their weights."""
    return {"subject": tuple(range(1, Size.wrap(config.num_subjects).cap + 1))}


def predict(problem: Problem, config: Config, steps: Int[Array | np.ndarray, " n"]) -> dict:
    """Return levels for all steps, and the growth of scores from a small start for onehot.

    loss: uniform                    log A, of equal probabilities
    loss: relation                   (1/R) sum_r H(p(.|r)), of the answers' weights in the relation
    loss: subject                    log R, of equal probabilities of the subject's R answers
    right: relation                  (1/R) sum_r sum_a p(a|r)^2, when p(.|r) is answered
    relation_score: growth           mean over relations of u(0) cosh(|G_r| eta t), see `laws`
    subject_score: growth            the same for subjects and |G_s|
    """
    times = np.asarray(steps)
    levels, drives = laws.levels(problem.train, config), laws.drives(problem.train, config)
    level = lambda value: jnp.broadcast_to(value, times.shape)
    grown = lambda drive, count: jax.vmap(
        lambda at: sizes.mean(laws.growth(drive, at, config), Size.wrap(count))
    )(jnp.asarray(times, float))
    return {
        "loss:uniform": level(levels.uniform),
        "loss:relation": level(levels.relation),
        "loss:subject": level(levels.subject),
        "right:relation": level(levels.right),
        "relation_score:growth": grown(drives.relation, config.num_relations),
        "subject_score:growth": grown(drives.subject, config.num_subjects),
    }


def assumptions(problem: Problem, config: Config) -> dict:
    """Return the conditions under which relations are learned first, and noise is left alone.

    All are derived. "Small" has no constant; ours is alpha^2 A < 1/10.
    """
    drives = laws.drives(problem.train, config)
    A = jnp.asarray(
        Size.wrap(config.num_relations).real * Size.wrap(config.num_answers).real, float
    )
    mask = Size.wrap(config.num_relations).mask()
    least = jnp.min(jnp.where(mask, drives.relation, jnp.inf))
    margins = {
        "relations first: least |G_r| > largest |G_s|": least - jnp.max(drives.subject),
        "noise left alone: its |G| below the largest |G_s| on the plateau": jnp.max(drives.plateau)
        - drives.memory,
        "small start: alpha^2 A < 1/10": 0.1 - jnp.asarray(config.init_scale, float) ** 2 * A,
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
