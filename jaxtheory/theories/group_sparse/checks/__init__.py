"""Independent derivations of every closed form, and the small configs on which all checks run.

There is one file of derivations for each file that they check.
"""

from typing import Any

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.group_sparse.checks import (
    calculus,
    data,
    laws,
    model,
    predictions,
    training,
)
from jaxtheory.theories.group_sparse.model import Config

CHECKS = checks_of(model, data, calculus, laws, training, predictions)

_SMALL: dict[str, Any] = {
    "group_dim": 2,
    "num_groups": 3,
    "num_samples": 5,
    "downstream_samples": 3,
}
EXAMPLES = (
    Config(**_SMALL, relevant_group=3, partition=((4, 0), (1, 5), (3, 2)), margin=0.0),
    Config(
        group_dim=2,
        num_groups=2,
        relevant_group=1,
        num_samples=1,
        downstream_samples=1,
        features="uniform",
        attention="trained",
    ),
    Config(
        group_dim=3,
        num_groups=4,
        num_samples=3,
        downstream_samples=2,
        features="rademacher",
        attention="scratch",
        pretraining_steps=3,
    ),
    Config(**_SMALL, noise_scale=0.7, margin=1.0, pretraining_steps=1).pad(
        group_dim=3, num_groups=5, num_samples=8, downstream_samples=4
    ),
)
