"""Hypothesis profiles: `suite` runs the same few examples in every run of the tests, `fuzz` the
examples of a seed. Neither keeps a database of examples.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from properties.memory import forget_when_large

COMMON = settings(
    deadline=None,
    database=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "suite", COMMON, derandomize=True, max_examples=2, phases=[Phase.generate]
)
settings.register_profile(
    "fuzz", COMMON, max_examples=int(os.environ.get("JAXTHEORY_FUZZ_EXAMPLES", "10"))
)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def forget_between_tests() -> Iterator[None]:
    """Compiled programs of one property are forgotten before the next if they hold much memory."""
    yield
    forget_when_large()
