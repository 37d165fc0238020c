"""Shared parts of the figures of causal_graph: names, the quick form, and measures.

Of arXiv 2402.14735 the abstract and the authors' code were read. Sizes are smaller here (S = 3 and T = 16 for S = 10 and T = 20), and learning rates are ours.
Thresholds come from runs on keys 100 and 101, widened. Comments say what was measured.
"""

from typing import Any

import jax
import jax.numpy as jnp
import xarray as xr

import jaxtheory
from jaxtheory import Size, draws, sizes, traced
from jaxtheory.theories.causal_graph import data, model, predictions

THEORY = jaxtheory.theories.get("causal_graph")
Config = THEORY.Config
GRADIENT = "arXiv 2402.14735"
S, T, P, ALPHA = "num_states", "length", "num_prompts", "concentration"

SMALL = Config(num_states=3, length=16, num_prompts=1000)
PLAIN: dict[str, Any] = {"dtype": "float32", "seeds": 8}
QUICK: dict[str, Any] = {"config": SMALL.replace(**{T: 8, P: 60}), "seeds": 4}


def lag(values: xr.DataArray, d: int) -> xr.DataArray:
    """The entry of a metric by lag."""
    return values.isel(lag=d, drop=True)


def level(data: xr.Dataset, name: str) -> xr.DataArray:
    """A level of the test loss, which does not depend on the step."""
    return data[f"predicted_test_loss_{name}"].isel(step=0, drop=True)


class Shifted(model.Config):
    """The prompts of the theory, of sticky chains, and with another law of pi at test time."""

    stickiness: float = traced(0.0, "c", "weight of the identity in each pi", "[0, 1)")
    test_concentration: float = traced(1.0, "alphat", "alpha of the test prompts", "(0, inf)")


def prompts(keys: jax.Array, p: jax.Array, config: Shifted) -> data.Prompts:
    """Prompts with pi = c I + (1 - c) pi_0, where pi_0 has independent Dirichlet rows."""
    for_pi, for_s = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    c, eye = config.stickiness, sizes.eye(Size.wrap(config.num_states))
    pi = c * eye[None] + (1 - c) * data.transitions(for_pi, config)
    u = jax.vmap(lambda key: draws.uniform(key, config.length))(for_s)
    return data.Prompts(data.states(pi, u, p, config), pi)


def problem(key: jax.Array, config: Shifted) -> model.Problem:
    """The graph, P training prompts, and test prompts of their own alpha."""
    for_graph, for_train, for_test = jax.random.split(key, 3)
    p, P = data.parents(for_graph, config), Size.wrap(config.num_prompts)
    train = prompts(jax.random.split(for_train, P.cap), p, config)
    train = data.Prompts(*(draws.masked(x, P) for x in train))
    test = prompts(jax.random.split(for_test, data.TEST_PROMPTS), p, at_test(config))
    return data.make_problem(p, train, test, P, data.TEST_PROMPTS, config)


def at_test(config: Shifted) -> Shifted:
    """The setting of the test prompts."""
    return config.replace(concentration=config.test_concentration)


def predict(problem: model.Problem, config: Shifted, steps: Any) -> dict:
    """The levels of predictors that know the law of the test prompts."""
    return predictions.predict(problem, at_test(config), steps)


SHIFTED = THEORY._replace(
    Config=Shifted, problem=problem, predict=predict, checks=(), examples=(), given=None
)
