"""The worked example as a small theory for engine tests, and a counter of compilations."""

import contextlib
import logging
from pathlib import Path

import jax

from jaxtheory.engine.planning import padding
from jaxtheory.theories import load

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "linear_regression.py"
MODULE = load(EXAMPLE)
THEORY = MODULE.THEORY
padding.trust(THEORY)  # as after `jaxtheory verify`
Config = THEORY.Config


@contextlib.contextmanager
def compilations():
    """A list that receives the name of every program XLA compiles within."""
    programs = []

    class Listener(logging.Handler):
        def emit(self, record):
            text = record.getMessage()
            if text.startswith("Compiling "):
                programs.append(text.split()[1])

    logger, listener = logging.getLogger("jax"), Listener()
    logger.addHandler(listener)
    try:
        with jax.log_compiles(True):
            yield programs
    finally:
        logger.removeHandler(listener)


def training_loops(names):
    return sum("_train)" in name for name in names)
