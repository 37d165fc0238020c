"""Parameters of a test of which some are tried in every run, the others with --all."""

from collections.abc import Iterable

import pytest


def some(values: Iterable, *always: object) -> list:
    """All values; those not among `always` are slow. Tuples are the values of several arguments."""
    arguments = lambda v: v if isinstance(v, tuple) else (v,)
    slow = lambda v: () if v in always else pytest.mark.slow
    return [pytest.param(*arguments(v), marks=slow(v)) for v in values]
