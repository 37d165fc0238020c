"""Independent derivations of every closed form, and the small configs on which all checks run.

There is one file for each file that they check.
"""

from typing import Any

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.random_walk.checks import calculus, data, laws, model, training
from jaxtheory.theories.random_walk.model import Config

CHECKS = checks_of(model, data, calculus, laws, training)

_SMALL: dict[str, Any] = {"num_sequences": 16, "encoding_dim": 7}
EXAMPLES = (
    Config(num_states=5, length=6, clockwise_probability=0.7, **_SMALL),
    Config(num_states=3, length=2, clockwise_probability=0.5, num_sequences=12, encoding_dim=2),
    Config(
        num_states=4,
        length=5,
        clockwise_probability=0.3,
        init_scale=0.2,
        tokens="unit",
        loss_function="square",
        **_SMALL,
    ),
    Config(
        num_states=6,
        length=7,
        clockwise_probability=0.0,
        num_sequences=10,
        encoding_dim=8,
        tokens="unit",
        loss_function="hinge",
    ),
    Config(
        num_states=3,
        length=7,
        clockwise_probability=1.0,
        population=True,
        encoding_dim=7,
        learning_rate=0.3,
    ),
    Config(
        num_states=3,
        length=7,
        clockwise_probability=0.0,
        population=True,
        encoding_dim=9,
        tokens="unit",
        loss_function="square",
    ),
    Config(
        num_states=4,
        length=9,
        clockwise_probability=1.0,
        population=True,
        encoding_dim=9,
        perturbation=0.1,
        loss_function="hinge",
    ),
    Config(
        num_states=5,
        length=6,
        clockwise_probability=0.8,
        value="mlp",
        hidden_width=4,
        init_scale=0.1,
        **_SMALL,
    ),
    Config(
        num_states=19,
        length=17,
        task="qa1",
        init_scale=0.1,
        tokens="unit",
        num_sequences=12,
        encoding_dim=17,
    ),
    Config(num_states=19, length=19, task="qa2", init_scale=0.1, num_sequences=12, encoding_dim=20),
    Config(num_states=5, length=6, clockwise_probability=0.7, **_SMALL).pad(
        num_states=7, length=9, num_sequences=20, encoding_dim=11
    ),
)
