"""The work of a sweep, done by an executor."""

from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.execution import local


def test_executors_are_exchangeable():
    """Any function that maps chunks to parts will do, in any order."""

    def backwards(run, chunks, tell=local.silent):
        for chunk in reversed(list(chunks)):
            yield chunk, run(chunk, tell)

    options = {"vary": {"d": [2, 5], "eta": [0.1, 0.2]}, "seeds": 5, "steps": 4, "dtype": "float64"}
    assert sweep(THEORY, Config(), execute=backwards, **options).identical(
        sweep(THEORY, Config(), **options)
    )
