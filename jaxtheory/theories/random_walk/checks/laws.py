"""Checks of the closed forms of a run.

They use enumerated paths, matrices, and the algorithm in population mode.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.random_walk import data, laws, model, training
from jaxtheory.theories.random_walk.checks import literal, material
from jaxtheory.theories.random_walk.model import Config, Problem, Reduced

STEPS = 3
FAILURE = f"{material.PAPER}, failure theorem; recursion derived"


@check("first_step: enumeration of all paths", f"{material.PAPER}, Lemma C.1", "equal")
def first_step_enumerated(_key: Array, config: Config) -> Compared:
    """One step of the population from the zero start, by enumeration of all paths.

    It gives Lemma C.1 and W = 0. The square loss is included.
    """
    if not literal.enumerable(config):
        return None
    K, N, paths = config.num_states.cap, config.length.cap, literal.paths(config)
    zero = Reduced(jnp.zeros((K, K)), jnp.zeros(K), jnp.zeros(N))
    slopes = jax.grad(model.loss)(zero, paths, Problem(paths, paths), config)
    got = zero._replace(V=laws.first_step(config))
    return material.flat(got), -config.learning_rate * material.flat(slopes)


@check("adam_first_step: Adam and sign descent on all paths", "derived", "equal")
def adam_first_step_enumerated(key: Array, config: Config) -> Compared:
    """One step of the algorithms adam and sign on all paths, from the zero start.

    V = eta G / (|G| + eps_A) for a large and for a vanishing eps_A, and W = 0.
    """
    if not literal.enumerable(config):
        return None
    K, N, paths = config.num_states.cap, config.length.cap, literal.paths(config)
    zero = Reduced(jnp.zeros((K, K)), jnp.zeros(K), jnp.zeros(N))
    problem, pairs = Problem(paths, paths), []
    for name, offset in (("adam", 0.1), ("sign", 1e-30)):
        at = config.replace(adam_epsilon=offset, init_scale=0.0, perturbation=0.0)
        algorithm = training.ALGORITHMS[name]
        start = algorithm.init(key, problem, at)._replace(params=zero)
        moved = algorithm.step(key, 0, start, paths, problem, at)
        got = zero._replace(V=laws.adam_first_step(at))
        pairs.append((material.flat(got), material.flat(moved.params)))
    return tuple(jnp.stack(column) for column in zip(*pairs, strict=True))


@check("saturated_step: enumeration of all paths", "derived", "equal")
def saturated_enumerated(key: Array, config: Config) -> Compared:
    """A step from a circulant V with all attention on the parent, by enumeration of all paths."""
    if not literal.enumerable(config):
        return None
    N, paths = config.length.cap, literal.paths(config)
    v = jax.random.uniform(key, (config.num_states.cap,))
    parent = jnp.where(jnp.arange(N) == N - 2, 0.0, -1e4)
    of_V = lambda V: model.loss(
        Reduced(V, jnp.zeros_like(v), parent), paths, Problem(paths, paths), config
    )
    V = data.circulant(v, config)
    return data.circulant(
        laws.saturated_step(v, config), config
    ), V - config.learning_rate * jax.grad(of_V)(V)


@check("saturated_step: square-root growth", "derived", "bound")
def saturated_sqrt(key: Array, config: Config) -> Compared:
    """The two entries that move grow like sqrt(2 eta p t / K) for the log loss.

    x = v + eps obeys x <- x + c/x, hence x^2 >= x_0^2 + 2 c t, c = eta p / K.
    """
    if config.loss_function != "log" or not material.circle(config):
        return None
    v0 = jnp.where(config.num_states.mask(), jax.random.uniform(key, (config.num_states.cap,)), 0)
    v = jax.lax.fori_loop(0, 50, lambda _, v: laws.saturated_step(v, config), v0)
    c = config.learning_rate / config.num_states.real * data.step_law(config)
    moving = jnp.array([1, config.num_states.n - 1])
    return jnp.sqrt((v0 + config.epsilon) ** 2 + 100 * c)[moving], (v + config.epsilon)[moving]


@check("selected_run: descent on all paths", "derived", "equal")
def selected_run_enumerated(_key: Array, config: Config) -> Compared:
    """V and the loss over four steps of descent in V, by enumeration of all paths.

    Two steps are on the loss of the mean output under uniform attention, then come steps on the
    mean loss with all attention on the parent.
    """
    if not literal.enumerable(config):
        return None
    K, N, paths = config.num_states.cap, config.length.cap, literal.paths(config)

    def objective(V: Array, t: Array) -> Array:
        at = jnp.where((t < 2) | (jnp.arange(N) == N - 2), 0.0, -1e4)
        H = model.attend(Reduced(V, jnp.zeros(K), at), paths, config)[1]
        f_y = jnp.sum(V[paths.y] * H, axis=1)
        mean = lambda x: jnp.sum(paths.weight * x)
        return jnp.where(t < 2, model.ell(mean(f_y), config), mean(model.ell(f_y, config)))

    def following(V: Array, t: Array) -> tuple[Array, tuple[Array, Array]]:
        loss, slope = jax.value_and_grad(objective)(V, t)
        return V - config.learning_rate * slope, (V, loss)

    got = laws.selected_run(config, 4)
    circulants = jax.vmap(lambda v: data.circulant(v, config))(got.v)
    return (circulants, got.loss), jax.lax.scan(following, jnp.zeros((K, K)), jnp.arange(4))[1]


@check("best_accuracy: Bayes predictor by enumeration", f"{material.PAPER}, corollary", "equal")
def best_accuracy_bayes(_key: Array, config: Config) -> Compared:
    """The accuracy of the best predictor of the whole path, by enumeration.

    It is the sum over prefixes of the largest joint probability with a label.
    """
    if not literal.enumerable(config):
        return None
    K, N = config.num_states.cap, config.length.cap
    paths = literal.paths(config)
    prefix = jnp.sum(
        paths.s[:, : N - 1] * jnp.asarray(K ** np.arange(N - 1), jnp.int32)[None, :], axis=1
    )
    joint = jnp.zeros((K ** (N - 1), K)).at[prefix, paths.y].add(paths.weight)
    return laws.best_accuracy(config), jnp.sum(jnp.max(joint, axis=1))


@check("limit_error: from the matrices", "derived", "equal")
def limits_of_direction(_key: Array, config: Config) -> Compared:
    """The limits of direction (sqrt p, sqrt(1 - p)) from the K x K matrices.

    The last one comes from their rows; two vanish at p = 1/2, so a 1 beside them sets the scale.
    """
    if not material.circle(config):
        return None
    law = data.transition(config)
    over = lambda sizes: jnp.where(config.num_states.mask(), sizes, 1)[:, None]
    root = jnp.sqrt(law)
    q = root / over(jnp.sum(root, axis=1))
    gaps = jnp.linalg.norm(root / over(jnp.linalg.norm(root, axis=1)) - law, axis=1)
    kl = (
        jnp.sum(
            jnp.where(
                law > 0, law * jnp.log(jnp.where(law > 0, law / jnp.where(law > 0, q, 1), 1)), 0
            )
        )
        / config.num_states.real
    )
    unit = jnp.ones(())
    return jnp.stack([unit, *laws.limit_error(config)]), jnp.stack(
        [unit, linalg.direction_error(root, law), kl, jnp.sum(gaps) / config.num_states.real]
    )


@check("symmetric_run: the algorithm and its derivative", FAILURE, "equal")
def symmetric_training(key: Array, config: Config) -> Compared:
    """The first steps of the actual algorithm in population mode, and their derivative.

    The steps give V and the attention of all positions. The derivative tells what they do to the
    lag sums of a disturbance of w.
    """
    K, N = config.num_states.cap, config.length.cap
    exact = config.population and config.value == "linear" and not material.padded(config)
    if not exact or (N - 1) % K:
        return None
    problem = data.problem(key, config)

    def run(w: Array) -> tuple[Array, Array, Array]:
        def following(state: Reduced, t: Array) -> tuple[Any, tuple[Array, Array, Array]]:
            record = state.V, state.w, model.attend(state, problem.train, config)[0]
            return training.step(key, t, state, problem.train, problem, config), record

        start = Reduced(jnp.zeros((K, K)), jnp.zeros(K), w)
        return jax.lax.scan(following, start, jnp.arange(STEPS + 1))[1]

    direction = jax.random.normal(key, (N,))
    (V, _, S), (_, moved, _) = jax.jvp(run, (jnp.zeros(N),), (direction,))
    lag = (N - 1 - jnp.arange(N - 1)) % K
    sums = lambda w: (c := jnp.zeros(K).at[lag].add(w[: N - 1])) - jnp.mean(c)
    closed = laws.symmetric_run(config, STEPS + 1)
    is_query = (jnp.arange(N) == N - 1)[None, None, :]
    expand = lambda values: values[:, None, None]
    got = (
        jnp.broadcast_to(expand(closed.alpha), V.shape),
        jnp.broadcast_to(jnp.where(is_query, expand(closed.query), expand(closed.token)), S.shape),
        closed.growth[:, None] * sums(direction)[None, :],
    )
    return got, (V, S, jax.vmap(sums)(moved))


def powers(p: Array, config: Config) -> Array:
    """The score of each lag by powers of the transition matrix."""
    K = jnp.eye(config.num_states.cap)
    Pi = p * jnp.roll(K, 1, axis=1) + (1 - p) * jnp.roll(K, -1, axis=1)
    rows = [Pi[0]]
    for _ in range(config.length.cap - 2):
        rows.append(rows[-1] @ Pi)
    return jnp.stack(rows) @ sum(rows)


@check("lag_scores: powers of the transition matrix", "derived", "equal")
def lag_scores_by_powers(key: Array, config: Config) -> Compared:
    """The scores, and the share by which the parent leads."""
    if not material.circle(config) or material.padded(config) or config.length.cap < 3:
        return None
    p = jax.random.uniform(key)
    scores = powers(p, config)
    margin = (scores[0] - jnp.max(scores[1:])) / scores[0]
    return (laws.lag_scores(p, config), 1 + laws.parent_margin(p, config)), (scores, 1 + margin)


@check("predict_boundary: the scores tie", "derived", "equal")
def boundary_of_scores(_key: Array, config: Config) -> Compared:
    """The parent and the best other lag tie at p*, and the parent leads just below, K = 20."""
    if not material.circle(config) or material.padded(config):
        return None
    circle = config.replace(num_states=20, length=41)
    p = laws.predict_boundary(circle)
    at, below = powers(p, circle), powers(p - 1e-3, circle)
    lead = jnp.where(below[0] > jnp.max(below[1:]), 1.0, 0.0)
    return (at[0], lead), (jnp.max(at[1:]), jnp.ones(()))
