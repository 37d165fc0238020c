"""Checks of the start, and of a step against descent on the loss as the source writes it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import draws
from jaxtheory.theories.random_walk import calculus, model, training
from jaxtheory.theories.random_walk.checks import literal, material
from jaxtheory.theories.random_walk.model import Config, Problem, Reduced

DRAWS = 4000


@check("init: values and scores of Gaussian matrices", "derived", "sample")
def start_by_matrices(key: Array, config: Config) -> Compared:
    """The mean squares of each array at the start against those of Gaussian values and matrices.

    Values are sigma N(0, 1), and scores those of matrices sigma N(0, 1), w disturbed by
    delta N(0, 1).
    """
    if material.padded(config):
        return None
    batch, params = material.case(key, config)
    problem = Problem(batch, batch)

    def drawn(key: Array) -> Reduced:
        normal = lambda i, x: draws.normal(jax.random.fold_in(key, i), *x.shape)
        matrices = jax.tree.unflatten(
            jax.tree.structure(params),
            [config.init_scale * normal(i, x) for i, x in enumerate(jax.tree.leaves(params))],
        )
        scores = calculus.reduce(matrices, config)
        return scores._replace(w=scores.w + config.perturbation * normal(9, scores.w))

    def squares(start: Callable[[Array], Reduced], i: int) -> Array:
        keys = jax.random.split(jax.random.fold_in(key, i), DRAWS)
        arrays = jax.tree.leaves(jax.vmap(start)(keys))
        return jnp.stack([jnp.mean(x**2, axis=range(1, x.ndim)) for x in arrays], axis=1)

    got, want = squares(lambda key: model.init(key, problem, config), 1), squares(drawn, 2)
    error = jnp.sqrt((jnp.var(got, axis=0) + jnp.var(want, axis=0)) / DRAWS)
    return jnp.mean(got, axis=0), jnp.mean(want, axis=0), error


@check("step: descent on the token-by-token loss, literal and reduced", material.PAPER, "equal")
def step_descends(key: Array, config: Config) -> Compared:
    """A step in V and W, and a step in the scores, against descent on the token-by-token loss.

    By induction the runs are the same. Checked for unit tokens, and for raw ones with the mlp.
    """
    plain = config.tokens == "raw" and config.value == "linear"
    if plain or not material.layer(config):
        return None
    batch, params = material.case(key, config)
    slopes = jax.grad(literal.loss)(params, batch, config)
    want = jax.tree.map(lambda x, g: x - config.learning_rate * g, params, slopes)
    got = [
        training.step(key, 0, start, batch, Problem(batch, batch), config)
        for start in (params, calculus.reduce(params, config))
    ]
    return got, [want, calculus.reduce(want, config)]
