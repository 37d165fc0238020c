"""Independent derivations of the closed forms, and the small configs on which all checks run."""

from typing import Any

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.factual_recall.checks import data, laws, model, predictions, training
from jaxtheory.theories.factual_recall.model import Config

CHECKS = checks_of(data, model, laws, training, predictions)

_ONE: dict[str, Any] = {"num_subjects": 1, "num_relations": 1, "num_answers": 1, "num_noise": 1}
_SMALL: dict[str, Any] = {
    "num_subjects": 3,
    "num_relations": 2,
    "num_answers": 3,
    "num_noise": 2,
    "num_draws": 2,
}

EXAMPLES = (
    Config(**_SMALL, length=4, dimension=3, zipf=0.7),
    Config(**_SMALL, length=3, dimension=3, embedding="random"),
    Config(**_ONE, length=2, num_draws=1, dimension=1),
    Config(**{**_SMALL, "num_subjects": 1, "num_noise": 1}, length=5, dimension=2),
    Config(**{**_SMALL, "num_relations": 1}, length=2, dimension=2, zipf=1.0),
    Config(**{**_SMALL, "num_answers": 1}, length=3, dimension=2, embedding="random"),
    Config(**_SMALL, length=4, dimension=2, zipf=0.5).pad(
        num_subjects=4, num_relations=3, num_answers=4, num_noise=3, length=6, num_draws=3
    ),
)
