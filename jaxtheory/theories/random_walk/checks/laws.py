"""Checks of the closed forms of a run: paths enumerated, matrices, and the algorithm in population
mode.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core import linalg
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.random_walk import data, laws, model, training
from jaxtheory.theories.random_walk.checks import literal, material
from jaxtheory.theories.random_walk.model import Config, Problem, Reduced

STEPS = 3
FAILURE = f"{material.PAPER}, failure theorem; recursion derived"


def first_step_enumerated(_key: Array, config: Config) -> Compared:
    """Lemma C.1 and W = 0: one step of the population, all paths enumerated, from the zero start.
    hinge and square losses included.
    """
    if not literal.enumerable(config):
        return None
    K, N, paths = config.num_states.cap, config.length.cap, literal.paths(config)
    zero = Reduced(jnp.zeros((K, K)), jnp.zeros(K), jnp.zeros(N))
    slopes = jax.grad(model.loss)(zero, paths, Problem(paths, paths), config)
    return material.flat(laws.first_step(config)), -config.learning_rate * material.flat(slopes)


def saturated_enumerated(key: Array, config: Config) -> Compared:
    """A step of V with all attention on the parent, all paths enumerated, from a circulant V."""
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


def saturated_sqrt(key: Array, config: Config) -> Compared:
    """Log loss: x = v + eps obeys x <- x + c/x, hence x^2 >= x_0^2 + 2 c t, c = eta p / K: growth
    like sqrt(2 eta p t / K).
    """
    if config.task != "walk" or config.loss_function != "log":
        return None
    v0 = jnp.where(config.num_states.mask(), jax.random.uniform(key, (config.num_states.cap,)), 0)
    v = jax.lax.fori_loop(0, 50, lambda _, v: laws.saturated_step(v, config), v0)
    c = config.learning_rate / config.num_states.real * data.step_law(config)
    return jnp.sqrt((v0 + config.epsilon) ** 2 + 100 * c), v + config.epsilon


def selected_run_early(_key: Array, config: Config) -> Compared:
    """The first steps of the predicted run: exact at t = 1, and again from t = 2 on by the
    saturated step.
    """
    if config.task != "walk":
        return None
    v = laws.selected_run(config, 4).v
    want = jnp.stack([laws.first_step(config).V[:, 0], laws.saturated_step(v[2], config)])
    return v[jnp.array([1, 3])], want


def best_accuracy_bayes(_key: Array, config: Config) -> Compared:
    """The best predictor of the whole path, by enumeration: sum over prefixes of the largest joint
    probability with a label.
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


def limits_of_direction(_key: Array, config: Config) -> Compared:
    """The limits of direction (sqrt p, sqrt(1 - p)) from the K x K matrices; both vanish at p =
    1/2, so a 1 beside them sets the scale.
    """
    if config.task != "walk":
        return None
    law = data.transition(config)
    q = (
        jnp.sqrt(law)
        / jnp.where(config.num_states.mask(), jnp.sum(jnp.sqrt(law), axis=1), 1)[:, None]
    )
    kl = (
        jnp.sum(
            jnp.where(
                law > 0, law * jnp.log(jnp.where(law > 0, law / jnp.where(law > 0, q, 1), 1)), 0
            )
        )
        / config.num_states.real
    )
    one = jnp.ones(())
    return jnp.stack([one, *laws.limit_error(config)]), jnp.stack(
        [one, linalg.direction_error(jnp.sqrt(law), law), kl]
    )


# The symmetric run


def _symmetric_training(disturbance: Float[Array, " N"], config: Config) -> list[Reduced]:
    """The first states of the actual algorithm in population mode, from zero scores plus a
    disturbance of w.
    """
    K = config.num_states.cap
    problem = data.problem(jax.random.key(0), config)
    run: list[Any] = [Reduced(jnp.zeros((K, K)), jnp.zeros(K), disturbance)]
    for t in range(STEPS):
        run.append(training.step(jax.random.key(0), t, run[-1], problem.train, problem, config))
    return run


def _symmetric(config: Config) -> bool:
    exact = config.population and config.value == "linear" and not material.padded(config)
    return exact and (config.length.cap - 1) % config.num_states.cap == 0


def symmetric_values(_key: Array, config: Config) -> Compared:
    """Attention of all positions and V, step by step."""
    if not _symmetric(config):
        return None
    K, N = config.num_states.cap, config.length.cap
    problem = data.problem(jax.random.key(0), config)
    run = _symmetric_training(jnp.zeros(N), config)
    closed = laws.symmetric_run(config, STEPS + 1)
    attentions = jnp.stack([model.attend(state, problem.train, config)[0] for state in run])
    tokens = jnp.broadcast_to(closed.token[:, None, None], (STEPS + 1, K, N - 1))
    got = jnp.concatenate(
        [tokens, jnp.broadcast_to(closed.query[:, None, None], (STEPS + 1, K, 1))], axis=2
    )
    values = jnp.broadcast_to(closed.alpha[:, None, None], (STEPS + 1, K, K))
    return (got, values), (attentions, jnp.stack([state.V for state in run]))


def symmetric_growth(key: Array, config: Config) -> Compared:
    """The growth of a disturbance against the derivative of the actual run."""
    if not _symmetric(config):
        return None
    K, N = config.num_states.cap, config.length.cap
    lag_class = (N - 1 - jnp.arange(N - 1)) % K
    sums = lambda w: (c := jnp.zeros(K).at[lag_class].add(w[: N - 1])) - jnp.mean(c)
    direction = jax.random.normal(key, (N,))
    _, moved = jax.jvp(
        lambda w: [state.w for state in _symmetric_training(w, config)],
        (jnp.zeros(N),),
        (direction,),
    )
    want = jnp.stack([sums(w) for w in moved])
    return laws.symmetric_run(config, STEPS + 1).growth[:, None] * sums(direction)[None, :], want


CHECKS = (
    Check(
        "best_accuracy: Bayes predictor by enumeration",
        f"{material.PAPER}, corollary",
        "equal",
        best_accuracy_bayes,
    ),
    Check(
        "first_step: enumeration of all paths",
        f"{material.PAPER}, Lemma C.1",
        "equal",
        first_step_enumerated,
    ),
    Check("saturated_step: enumeration of all paths", "derived", "equal", saturated_enumerated),
    Check("saturated_step: square-root growth", "derived", "bound", saturated_sqrt),
    Check("selected_run: first and saturated steps", "derived", "equal", selected_run_early),
    Check("limit_error: from the matrices", "derived", "equal", limits_of_direction),
    Check(
        "symmetric_run: attention and values of the algorithm", FAILURE, "equal", symmetric_values
    ),
    Check("symmetric_run: growth is the run's derivative", "derived", "equal", symmetric_growth),
)
