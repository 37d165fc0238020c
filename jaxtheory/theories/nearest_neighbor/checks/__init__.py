"""Independent derivations of every closed form, and the small configs on which all checks run.

There is one file for each file that they check.
"""

from typing import Any

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.nearest_neighbor.checks import (
    bounds,
    calculus,
    data,
    model,
    population,
    training,
)
from jaxtheory.theories.nearest_neighbor.model import Config

CHECKS = checks_of(model, data, calculus, population, bounds, training)

_SMALL: dict[str, Any] = {"num_prompts": 6, "num_test": 10, "mask": 1.5}
EXAMPLES = (
    Config(dimension=3, context=3, learning_rate=0.5, **_SMALL),
    Config(
        dimension=2,
        context=1,
        separation=0.0,
        num_prompts=4,
        num_test=5,
        mask=0.0,
        labels="rademacher",
    ),
    Config(
        dimension=4, context=3, separation=2.5, labels="gaussian", initial_alignment=0.7, **_SMALL
    ),
    Config(dimension=3, context=4, learning_rate=0.5, **_SMALL).pad(
        dimension=5, context=6, num_prompts=8, num_test=12
    ),
)
