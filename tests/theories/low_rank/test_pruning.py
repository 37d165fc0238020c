"""What the pruning curves cost."""

import jax

import jaxtheory
from jaxtheory.theories.low_rank import THEORY, Config, analyses, data

KEY = jaxtheory.run_key(0, 1)
SMALL = Config(
    num_patterns=6,
    dimension=6,
    query_dim=6,
    value_dim=6,
    num_neurons=40,
    num_relevant=6,
    num_confusion=1,
    batch_size=16,
    num_samples=80,
    num_test=40,
    noise=0.05,
    init_diagonal=0.3,
)


def test_all_rates_take_three_forward_passes():
    """Matrix products of the pruning curves: at most those of three passes over the larger data
    set.
    """
    problem = jax.eval_shape(data.problem, KEY, SMALL)
    params = jax.eval_shape(THEORY.init, KEY, problem, SMALL)
    products = lambda f, *args: str(jax.make_jaxpr(f)(*args)).count("dot_general")
    one = products(lambda p, m: THEORY.loss(p, m.test, m, SMALL), params, problem)
    assert products(lambda p, m: analyses.pruning.curves(p, m, SMALL), params, problem) <= 3 * one
