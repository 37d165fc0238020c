"""The data: padding bit for bit, given patterns."""

import jax
import numpy as np

import jaxtheory
from jaxtheory.theories.low_rank import Config, data

KEY = jaxtheory.run_key(0, 0)
SMALL = Config(
    num_patterns=5,
    dimension=6,
    num_relevant=3,
    num_confusion=1,
    num_neurons=6,
    batch_size=4,
    num_samples=10,
    num_test=6,
)


def test_gaussian_tokens_do_not_depend_on_the_arrays_size():
    larger = SMALL.pad(
        num_patterns=7,
        dimension=9,
        num_relevant=5,
        num_samples=13,
        num_test=9,
        batch_size=6,
        num_irrelevant_each=2,
    )

    def draws(config):
        problem = data.problem(KEY, config)
        return problem.train, problem.test, data.sample(KEY, problem, config)

    # bits are those of optimized programs: without optimization some depend on an array's width
    draws = jax.jit(draws, compiler_options={"xla_backend_optimization_level": 2})
    for small, large in zip(*map(jax.tree.leaves, (draws(SMALL), draws(larger))), strict=True):
        np.testing.assert_array_equal(np.asarray(large)[tuple(map(slice, small.shape))], small)
        assert np.count_nonzero(large) == np.count_nonzero(small)


def test_given_patterns_are_those_of_the_tokens():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0][:5]
    problem = data.problem(KEY, SMALL.replace(given=tuple(map(tuple, turn.tolist())), noise=0.0))
    np.testing.assert_allclose(
        problem.train.tokens, turn[np.asarray(problem.train.pattern)], atol=1e-14
    )
