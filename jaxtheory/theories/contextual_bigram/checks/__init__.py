"""Independent derivations of every closed form, one file for each file that they check.

The small configs on which all checks run are here too.
"""

from collections.abc import Callable
from typing import Any

from jaxtheory.core.theory import checks_of
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
from jaxtheory.theories.contextual_bigram.model import SELECTED, Config


def _small_vocabulary(config: Config) -> bool:
    """True for few tokens, whose sums run over their values, with any weights and proximal map."""
    return config.num_states.cap <= SELECTED


def _even(config: Config) -> bool:
    """True for uniform weights."""
    return config.weights == "uniform"


def _plain(config: Config) -> bool:
    """True for the source's proximal map and a drawn P."""
    return config.prox == "two_case"


def _all(*rules: Callable[[Config], bool]) -> Callable[[Config], bool]:
    return lambda config: all(rule(config) for rule in rules)


# The examples on which a check is run. Laws depend on the weights, and data and gradients depend on
# the number of tokens. Training is composed of these, so it needs neither.
_FIRST = _all(_small_vocabulary, _even, _plain)
_LAWS, _SIZES = _all(_small_vocabulary, _plain), _all(_even, _plain)
_FILES = {
    model: _SIZES,
    data: _SIZES,
    calculus: _FIRST,
    population: _LAWS,
    dynamics: _LAWS,
    noise: _LAWS,
    transfer: _LAWS,
    bounds: _LAWS,
    training: _FIRST,
}
_ONE_BY_ONE = {
    "problem": lambda config: not _FIRST(config),
    "sample": _plain,
    "dirichlet": _FIRST,
    "generate": _FIRST,
    "sequences": _FIRST,
    "gradient": _SIZES,
    "soft_threshold": _all(_small_vocabulary, _even),
    "step": _all(_small_vocabulary, _even),
    "elapsed": _FIRST,
    "boosting_steps": _FIRST,
    "draw": _FIRST,
}
CHECKS = tuple(
    check._replace(
        fn=material.on_a_task(check.fn, _ONE_BY_ONE.get(check.name.split(":")[0], applies))
    )
    for file, applies in _FILES.items()
    for check in checks_of(file)
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
