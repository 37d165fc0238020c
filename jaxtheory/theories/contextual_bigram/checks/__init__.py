"""A second route to every closed form, in a file for each file that they guard; and the small
configs that all checks run on.
"""

from typing import Any

from jaxtheory.theories.contextual_bigram.checks import (
    bounds,
    calculus,
    data,
    dynamics,
    material,
    model,
    noise,
    population,
    training,
    transfer,
)
from jaxtheory.theories.contextual_bigram.model import Config

_FILES = (model, data, calculus, population, dynamics, noise, transfer, bounds, training)
CHECKS = tuple(
    check._replace(fn=material.on_a_task(check.fn)) for file in _FILES for check in file.CHECKS
)

_FAST: dict[str, Any] = {
    "learning_rate": 0.05,
    "late_learning_rate": 0.02,
    "switch_step": 3,
    "l1": 0.01,
}
EXAMPLES = (
    Config(num_states=3, length=5, sparsity=2, batch_size=7, correlation=0.8, **_FAST),
    Config(
        num_states=2,
        length=4,
        sparsity=1,
        batch_size=3,
        stationary_floor=0.2,
        prox="textbook",
        **_FAST,
    ),
    Config(
        num_states=3,
        length=4,
        sparsity=4,
        batch_size=5,
        weights="unequal",
        **_FAST | {"learning_rate": 1e-3, "late_learning_rate": 5e-4},
    ),
    Config(
        num_states=3,
        length=6,
        sparsity=1,
        batch_size=1,
        prox="simplex",
        given=((0.1, 0.6, 0.0), (0.9, 0.0, 0.5), (0.0, 0.4, 0.5)),
        **_FAST,
    ),
    Config(
        num_states=10,
        length=8,
        sparsity=3,
        batch_size=16,
        stationary_floor=0.01,
        correlation=0.5,
        **_FAST,
    ),
)
