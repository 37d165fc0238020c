"""Meanings of names, from docstrings; every metric and analysis of a theory has one."""

import jax
import numpy as np
import pytest

from jaxtheory import theories
from jaxtheory.core import docstrings
from jaxtheory.core.theory import Theory, outputs

TABLE = """What is measured. A sentence with one  double space is no row of it:

    loss             mean over the batch, which goes on
                     in the next line
    one, other       the first; the second
    both, together   the same for both
    accuracy: law    its limit
    loss: fit, late  two curves

    after the table nothing goes on
"""


def test_rows_are_read_with_groups_and_continuations() -> None:
    assert docstrings.meanings(TABLE) == {
        "loss": "mean over the batch, which goes on in the next line",
        "one": "the first",
        "other": "the second",
        "both": "the same for both",
        "together": "the same for both",
        "accuracy:law": "its limit",
        "loss:fit": "two curves",
        "loss:late": "two curves",
    }
    assert docstrings.meanings("A sentence.") == docstrings.meanings(None) == {}


def test_a_row_at_the_margin_ends_where_a_sentence_begins() -> None:
    text = "Summary.\n\nloss  how much\n      is lost\nOf the rest nothing.\nrest  what is left"
    assert docstrings.meanings(text) == {"loss": "how much is lost", "rest": "what is left"}


@pytest.mark.parametrize("name", theories.names())
def test_every_metric_analysis_curve_and_algorithm_has_a_description(name: str) -> None:
    theory = theories.get(name)
    said = docstrings.variables(theory)
    shown = [output.partition("(")[0] for group in outputs(theory).values() for output in group]
    wanted = {*shown, *("predicted_" + curve.replace(":", "_") for curve in curves(theory))}
    assert wanted - said.keys() == set()
    assert {metric for metric in said if not metric.startswith("predicted_")} <= set(shown)
    assert all(docstrings.algorithms(theory).values())


def curves(theory: Theory) -> list[str]:
    """The names of a theory's predictions, from shapes alone."""
    config = theory.Config()
    predict = lambda key: theory.predict(theory.problem(key, config), config, np.arange(2))
    return list(jax.eval_shape(predict, jax.random.key(0)))


def test_an_algorithm_without_a_row_has_the_first_sentence_of_its_step() -> None:
    def step(key, t, state, batch, problem, config):
        """Moves against the gradient. Nothing else."""
        return state

    theory = theories.get("low_rank")
    named = {**theory.algorithms, "mine": theory.algorithms["sgd"]._replace(step=step)}
    said = docstrings.algorithms(theory._replace(algorithms=named))
    assert said["mine"] == "Moves against the gradient"
    assert said["lora"] == docstrings.algorithms(theory)["lora"]
