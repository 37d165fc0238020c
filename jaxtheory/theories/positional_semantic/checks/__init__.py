"""Independent derivations of the closed forms, and the small configs on which all checks run."""

from typing import Any

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.positional_semantic.checks import laws, model, training
from jaxtheory.theories.positional_semantic.model import Config

CHECKS = checks_of(model, training, laws)

_SMALL: dict[str, Any] = {"dimension": 4, "num_samples": 5}

EXAMPLES = (
    Config(**_SMALL, token_scale=1.3),
    Config(**_SMALL, mixture=0.0, start="semantic", init_scale=0.7),
    Config(**_SMALL, mixture=1.0, amplitude=-0.3, start="positional"),
    Config(**_SMALL, amplitude=0.0, ridge=0.0, position_norm=0.5),
    Config(dimension=1, num_samples=3, start="positional"),
    Config(dimension=3, num_samples=1, ridge=0.2),
    Config(**_SMALL).pad(dimension=6, num_samples=8),
)
