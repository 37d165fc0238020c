"""The gradient by states and by tokens, from flat to saturated attention and beyond what
exponentials hold.
"""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import run_key
from jaxtheory.theories.random_walk import THEORY, Config, calculus, model
from jaxtheory.theories.random_walk.model import Problem, Reduced

CONFIG = Config(num_states=5, length=9, num_sequences=12, encoding_dim=9)
UNREAD = Problem(None, None)
MLP = CONFIG.replace(value="mlp", hidden_width=3, init_scale=0.1)


def drawn(config, u_scale, w_scale, seed=0):
    problem = THEORY.problem(run_key(0, seed), config)
    rows = np.random.default_rng(seed)
    K, N = config.num_states.cap, config.length.cap
    m = config.hidden_width.cap if config.value == "mlp" else K
    A = rows.uniform(0.1, 1, (K, m)) if config.value == "mlp" else None
    params = Reduced(
        rows.uniform(0.1, 1, (m, K)),
        u_scale * rows.normal(size=K),
        w_scale * rows.normal(size=N),
        A,
    )
    return jax.tree.map(jnp.asarray, params), problem.train


@pytest.mark.parametrize("config", [CONFIG, MLP, CONFIG.replace(tokens="unit")])
@pytest.mark.parametrize(("u_scale", "w_scale"), [(0, 0), (1, 1), (30, 3), (3, 3000), (100, 0)])
def test_both_routes_agree(config, u_scale, w_scale):
    params, batch = drawn(config, u_scale, w_scale)
    got, exact = calculus.by_states(params, batch, config)
    assert exact
    chex.assert_trees_all_close(
        got, calculus.by_tokens(params, batch, config), rtol=1e-11, atol=1e-14
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_beyond_the_exponentials(sign):
    """A state's score 2000 above the others', where a position's is 3000 above: what the first
    underflows then counts. Autodiff is right there, states alone are not.
    """
    params, batch = drawn(CONFIG, 1, 1)
    params = params._replace(u=params.u.at[2].add(sign * 2000), w=params.w.at[3].add(3000))
    (rough, _), exact = calculus.by_states(params, batch, CONFIG)
    want = jax.grad(model.loss)(params, batch, UNREAD, CONFIG)
    got = calculus.gradient(params, batch, UNREAD, CONFIG)
    assert not exact and not np.allclose(rough.V, want.V, equal_nan=True)
    chex.assert_trees_all_close(got, want, rtol=1e-11, atol=1e-14)


def test_a_lane_that_needs_its_tokens_leaves_its_neighbors_alone():
    params, batch = drawn(CONFIG, 1, 1)
    far = params._replace(u=params.u.at[2].add(2000.0), w=params.w.at[3].add(3000))
    gradient = jax.jit(jax.vmap(lambda p: calculus.gradient(p, batch, UNREAD, CONFIG)))
    stack = lambda *trees: jax.tree.map(lambda *x: jnp.stack(x), *trees)
    got, reference = gradient(stack(params, far)), gradient(stack(params, params))
    first = lambda tree: jax.tree.map(lambda x: x[0], tree)
    chex.assert_trees_all_equal(first(got), first(reference))
    want = jax.grad(model.loss)(far, batch, UNREAD, CONFIG)
    chex.assert_trees_all_close(jax.tree.map(lambda x: x[1], got), want, rtol=1e-11, atol=1e-14)


def test_float32_knows_its_own_limit():
    params, batch = drawn(CONFIG, 0, 0)
    single = jax.tree.map(lambda x: x.astype(jnp.float32), params)
    batch = batch._replace(weight=batch.weight.astype(jnp.float32))
    for height, exact in ((30, True), (60, False)):
        u = single.u.at[2].set(height)
        w = single.w.at[3].set(100)
        assert bool(calculus.by_states(single._replace(u=u, w=w), batch, CONFIG)[1]) is exact


def test_metrics_beyond_the_exponentials_are_those_of_every_token():
    params, _ = drawn(CONFIG, 1, 1)
    far = params._replace(u=params.u.at[2].add(2000.0), w=params.w.at[3].add(3000))
    problem = THEORY.problem(run_key(0, 0), CONFIG)
    assert not model.factored(far, problem.test, CONFIG)[1]
    S, _ = model.attend(far, problem.test, CONFIG)
    metrics = THEORY.metrics(far, problem, CONFIG)
    assert not model.factored(far, problem.train, CONFIG)[1]
    loss = model.loss(far, problem.train, problem, CONFIG)
    np.testing.assert_allclose(metrics["loss"], loss, rtol=1e-11)
    np.testing.assert_allclose(metrics["parent_attention"], S[:, -2].mean(), rtol=1e-11)
    np.testing.assert_allclose(metrics["query_attention"], S[:, -1].mean(), rtol=1e-11, atol=1e-300)
    assert np.isfinite(list(metrics.values())).all() and 0 < metrics["attention_spread"] <= 1
