"""Records are shown in at most ten short lines, and in a notebook as a table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY

import jaxtheory
from jaxtheory.claims import at_most
from jaxtheory.texts.faces import as_text, describe_arrays, describe_value

CONFIG = THEORY.Config()


def compare():
    return jaxtheory.compare_gradients(lambda w: jnp.sum(w**2) / 2, lambda w: 2 * w, jnp.ones(3))


RECORDS = {
    "theory": lambda: THEORY,
    "run": lambda: jaxtheory.simulate(THEORY, CONFIG, jaxtheory.run_key(0, 0), steps=3),
    "plan": lambda: jaxtheory.plan(THEORY, CONFIG, seeds=2, steps=3),
    "table": lambda: jaxtheory.verify(THEORY),
    "verdict": lambda: jaxtheory.verdict(xr.DataArray([0.1, 0.2, 0.3], dims="seed"), at_most(0.9)),
    "comparison": compare,
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_shown_in_ten_lines(name):
    record = RECORDS[name]()
    lines = repr(record).splitlines()
    assert 1 <= len(lines) <= 10 and max(map(len, lines)) <= 120
    assert "<" in record._repr_html_() and "array(" not in repr(record)


def test_a_run_shows_its_loss_and_its_parameters():
    run = RECORDS["run"]()
    first, last = run.metrics["loss"][[0, -1]]
    assert f"{first:.4g} → {last:.4g}, 4 records" in repr(run)
    assert repr(run).startswith("Run of 3 steps\n") and "weights (" in repr(run)


def test_a_config_is_written_as_python_would_make_it():
    config = CONFIG.replace(dimension=4)
    name = type(config).__name__
    assert "dimension=4" in repr(config) and eval(repr(config), {name: type(config)}) == config
    assert repr(jaxtheory.Size(4, 3)) == "Size(4, 3)"


def test_values_and_arrays_are_short():
    assert describe_value(np.float32(0.1) * np.ones((), np.float32)) == "0.1"
    assert describe_value(jnp.ones((2, 3), jnp.float32)) == "float32[2, 3]"
    assert describe_value(jax.random.key(0)).startswith("key<fry>")
    assert describe_arrays({"a": np.ones(2), "b": (np.ones(()), 1)}) == "a (2,), b.0 (), b.1 ()"


def test_long_faces_are_cut():
    class Record:
        def _face(self):
            return "title", {f"row {i}": "word " * 40 for i in range(30)}

    lines = as_text(Record()).splitlines()
    assert len(lines) == 10 and max(map(len, lines)) <= 100 and lines[-1] == "  and 22 more"
