"""An algorithm from a theory's gradient and an optax optimiser."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Algorithm, Theory

EXPECTED = (
    "expected a function of the config that gives an optax.GradientTransformation, such as lambda "
    "config: optax.adam(config.learning_rate)"
)


class Descent(NamedTuple):
    """Parameters, and what the optimiser remembers."""

    params: Any
    memory: Any


def descent(theory: Theory, optimiser: Any) -> Algorithm:
    """The algorithm params <- params + update, update of optimiser(config) for the theory's
    gradient, from the theory's init.

    optimiser: a function of the config that gives an optax.GradientTransformation, so that learning
    rate, momentum, decay and schedule are fields that a sweep varies: `lambda config:
    optax.adam(config.learning_rate)`. A schedule is a function of the count of steps, and may read
    the config too. A run can start from given parameters; the optimiser then begins at rest. Raises
    InputError where optimiser is no function or gives something else, or where its updates or its
    state change their structure.
    """
    if not callable(optimiser):
        raise InputError(f"optimiser is a {type(optimiser).__name__}, {EXPECTED}")

    def made(config: Any) -> optax.GradientTransformation:
        rule = optimiser(config)
        if not isinstance(rule, optax.GradientTransformation):
            raise InputError(f"optimiser(config) is a {type(rule).__name__}, {EXPECTED}")
        return rule

    def init(key: Any, problem: Any, config: Any) -> Descent:
        params = theory.init(key, problem, config)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes counts with floats
            memory = made(config).init(params)
        return Descent(params, jax.tree.map(jnp.asarray, memory))

    def step(key: Any, t: Any, state: Descent, batch: Any, problem: Any, config: Any) -> Descent:
        slope = theory.gradient(state.params, batch, problem, config)
        with jax.numpy_dtype_promotion("standard"):
            update, memory = made(config).update(slope, state.memory, state.params)
        for what, new, old in (("updates", update, slope), ("state", memory, state.memory)):
            found, want = jax.tree.structure(new), jax.tree.structure(old)
            if str(found) != str(want):
                raise InputError(f"the optimiser's {what} are {found}, expected {want}")
        return Descent(optax.apply_updates(state.params, update), memory)

    return Algorithm(init, step, lambda state, problem, config: state.params)
