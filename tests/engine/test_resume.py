"""A resumed run equals the run that was never interrupted, bit for bit."""

import jax
import numpy as np
import pytest

import jaxtheory
from jaxtheory.engine.resume import equal_trees
from jaxtheory.theories import contextual_bigram, group_sparse, low_rank, random_walk
from tests.helpers.quadratic import THEORY, Config

KEY = jaxtheory.run_key(3, 1)
SHORT = {"steps": 7, "record": 5}
LONG = {"steps": 23, "record": 5}


@pytest.mark.parametrize(
    ("theory", "algorithm"),
    [
        (random_walk, "reduced"),
        (random_walk, "adam"),
        (contextual_bigram, None),
        (low_rank, "sgd_cosine"),
        (group_sparse, "momentum"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_bit_for_bit(theory, algorithm, dtype):
    options = {"algorithm": algorithm, "dtype": dtype}
    full_run = jaxtheory.simulate(theory, theory.Config(), KEY, **LONG, **options)
    first = jaxtheory.simulate(theory, theory.Config(), KEY, steps=10, record=5, **options)
    again = jaxtheory.simulate(theory, theory.Config(), KEY, **LONG, **options, resume=first)
    assert all(map(equal_trees, full_run, again))


def test_it_goes_on_from_the_end_of_a_run_that_is_no_record_of_the_longer_one():
    full_run = jaxtheory.simulate(THEORY, Config(), KEY, **LONG)
    first = jaxtheory.simulate(THEORY, Config(), KEY, **SHORT)
    again = jaxtheory.simulate(THEORY, Config(), KEY, **LONG, resume=first)
    assert all(map(equal_trees, full_run, again))


def test_without_record_the_records_of_the_run_are_kept():
    first = jaxtheory.simulate(THEORY, Config(), KEY, steps=50, record=30)
    again = jaxtheory.simulate(THEORY, Config(), KEY, steps=60, resume=first)
    assert again.steps.tolist() == [0, 30, 50, 52, 54, 56, 58, 60]
    np.testing.assert_array_equal(again.metrics["distance"][:3], first.metrics["distance"])


def test_a_run_that_stopped_or_diverged_stays_so():
    rule = lambda metrics: metrics["distance"] < 0.9
    stopped = jaxtheory.simulate(THEORY, Config(), KEY, steps=10, stop=rule)
    assert 0 < stopped.stopped_at < 10 and stopped.metrics["distance"][stopped.stopped_at] < 0.9
    again = jaxtheory.simulate(THEORY, Config(), KEY, steps=20, stop=rule, resume=stopped)
    assert again.stopped_at == stopped.stopped_at and again.params == stopped.params
    assert np.isnan(again.metrics["distance"][stopped.stopped_at + 1 :]).all()
    lost = jaxtheory.simulate(THEORY, Config(eta=1e200), KEY, steps=5)
    again = jaxtheory.simulate(THEORY, Config(eta=1e200), KEY, steps=9, resume=lost)
    assert again.diverged_at == lost.diverged_at is not None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key": jaxtheory.run_key(3, 2)}, "another key, config or problem"),
        ({"config": Config(eta=0.2)}, "another config or dtype"),
        ({"dtype": "float32"}, "another config or dtype"),
        ({"steps": 3}, "steps = 3: the run to resume has 7 steps already"),
        ({"record": 2}, "record: step 2 is before the end of the run to resume"),
        ({"start": jax.numpy.ones(())}, "resume and start: pass one of the two"),
        ({"resume": 7}, "resume is a int, expected a Run"),
    ],
)
def test_another_run_is_refused(changed, message):
    first = jaxtheory.simulate(THEORY, Config(), KEY, **SHORT)
    options = {"config": Config(), "key": KEY, **LONG, "resume": first} | changed
    with pytest.raises(jaxtheory.InputError) as error:
        jaxtheory.simulate(THEORY, **options)
    assert message in str(error.value)


def test_another_algorithm_is_refused():
    first = jaxtheory.simulate(low_rank, low_rank.Config(), KEY, steps=2)
    with pytest.raises(jaxtheory.InputError, match="the algorithm that the run was trained with"):
        jaxtheory.simulate(low_rank, low_rank.Config(), KEY, 3, algorithm="adam", resume=first)
