"""The condition on overlaps: rivals of a parent are the other positions up to the query."""

import jax
import jax.numpy as jnp
import pytest

from jaxtheory.theories.causal_graph import Config, assumptions, problem

CONFIG = Config(num_states=2, length=4, num_prompts=3, graph="chain")
NAME = "overlap largest at the parent"


@pytest.mark.parametrize(
    ("entries", "margin"),
    [
        ({}, 0.5),  # a zero at a later position does not hide the rivals, all of which are negative
        ({(1, 0): -0.1}, 0.1),
        ({(2, 2): 0.25}, 0.05),  # the query itself is a rival
        ({(2, 0): 0.7}, -0.4),
        ({(0, 3): 9.0, (1, 3): 9.0, (2, 3): 9.0}, 0.5),
    ],
)
def test_rivals_of_a_parent_come_before_it_or_are_the_query(entries, margin):
    drawn = jax.jit(problem)(jax.random.key(0), CONFIG)
    assert drawn.parents.tolist() == [0, 1, 2, 0]
    overlap = jnp.where(jnp.tri(4, dtype=bool), -0.2, 0.0)
    overlap = overlap.at[1, 0].set(0.3).at[2, 1].set(0.3)
    for place, value in entries.items():
        overlap = overlap.at[place].set(value)
    holds, got = assumptions(drawn._replace(overlap=overlap), CONFIG)[NAME]
    assert got == pytest.approx(margin) and bool(holds) == (margin > 0)
