"""Parameters of a test of which some are tried in every run, the others with --all."""

from collections.abc import Iterable

import pytest


def some(values: Iterable, *always: object) -> list:
    """All values; those not among `always` are slow."""
    return [v if v in always else pytest.param(v, marks=pytest.mark.slow) for v in values]
