"""Classes of Zipf's law: gradients by autodiff, laws by a second route, and the theory they come
from.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_discrete_lyapunov

import jaxtheory
from jaxtheory.theories import contextual_bigram as bigram
from jaxtheory.theories.contextual_bigram.laws import classes

CONFIG = classes.Config(num_states=5, batch_size=7, learning_rate=0.5, label_noise=0.2)
KEY = jaxtheory.run_key(0, 0)


@pytest.fixture
def drawn():
    problem = classes.problem(KEY, CONFIG)
    V = jax.random.normal(jax.random.key(1), (5, 5))
    return problem, classes.sample(KEY, problem, CONFIG), classes.Params(V)


def test_problem_is_zipf_law_with_its_transition(drawn):
    pi, P = drawn[0]
    np.testing.assert_allclose(pi, (1 / np.arange(1, 6)) / np.sum(1 / np.arange(1, 6)))
    np.testing.assert_allclose(P @ pi, pi)
    np.testing.assert_allclose(P.sum(axis=0), 1)
    np.testing.assert_allclose(jnp.diag(P), 0.8 + 0.2 * pi)


def test_samples_have_these_laws(drawn):
    config = CONFIG.replace(batch_size=100_000)
    x, y = classes.sample(KEY, drawn[0], config)
    joint = np.zeros((5, 5))
    np.add.at(joint, (np.asarray(y), np.asarray(x)), 1e-5)
    np.testing.assert_allclose(joint, drawn[0].transition * drawn[0].frequency[None], atol=0.005)


def test_gradients_equal_autodiff(drawn):
    problem, batch, params = drawn

    def squared(params):
        r = params.value[:, batch.token] - jnp.eye(5)[:, batch.label]
        return jnp.mean(jnp.sum(r**2, axis=0)) / 2

    want = jax.grad(classes.loss)(params, batch, problem, CONFIG).value
    np.testing.assert_allclose(
        classes.gradient(params, batch, problem, CONFIG).value, want, atol=1e-12
    )
    want = jax.grad(squared)(params).value
    got = classes.squared_gradient(params, batch, problem, CONFIG).value
    np.testing.assert_allclose(got, want, atol=1e-12)
    even = classes.preconditioned_gradient(params, batch, problem, CONFIG).value
    np.testing.assert_allclose(even * problem.frequency[None], want, atol=1e-12)


def test_squared_error_is_that_of_the_theory_at_attention_on_one_position(drawn):
    problem, batch, params = drawn
    config = bigram.Config(num_states=5, length=3, sparsity=1, batch_size=7)
    distractor = jnp.where(batch.token == 0, 1, 0)
    tokens = jnp.stack([distractor, batch.token, distractor], axis=1).astype(jnp.uint8)
    A = jnp.zeros((3, 5)).at[1].set(1.0)
    task = bigram.Problem(problem.transition, problem.frequency, A, problem.transition)
    of_theory = bigram.Batch(tokens, batch.label, batch.label)
    want = bigram.gradient(bigram.Params(A, params.value), of_theory, task, config).value
    got = classes.squared_gradient(params, batch, problem, CONFIG).value
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_padded_tokens_stay_out(drawn):
    padded = CONFIG.pad(num_states=7)
    problem = classes.problem(KEY, padded)
    batch = classes.sample(KEY, problem, padded)
    V = jnp.zeros((7, 7)).at[:5, :5].set(drawn[2].value)
    for got, want in zip(
        (
            *jax.tree.leaves(classes.gradient(classes.Params(V), batch, problem, padded)),
            classes.noise_floor(problem, padded),
            classes.metrics(classes.Params(V), problem, padded)["class_loss"],
        ),
        (
            *jax.tree.leaves(classes.gradient(drawn[2], drawn[1], drawn[0], CONFIG)),
            classes.noise_floor(drawn[0], CONFIG),
            classes.metrics(drawn[2], drawn[0], CONFIG)["class_loss"],
        ),
        strict=True,
    ):
        np.testing.assert_allclose(got[tuple(map(slice, want.shape))], want, atol=1e-12)
        assert float(jnp.sum(jnp.abs(got))) == pytest.approx(float(jnp.sum(jnp.abs(want))))


def test_class_loss_is_a_divergence(drawn):
    problem, _, params = drawn
    q = np.exp(params.value) / np.exp(params.value).sum(axis=0)
    P = np.asarray(problem.transition)
    metrics = classes.metrics(params, problem, CONFIG)
    np.testing.assert_allclose(metrics["class_loss"], (P * np.log(P / q)).sum(axis=0))
    np.testing.assert_allclose(metrics["loss"], (P * np.log(P / q)).sum(axis=0) @ problem.frequency)


def test_margin_is_the_gradient_flow_of_all_logits():
    N, s = 5, np.array([0.1, 1.0, 10.0, 100.0])
    softmax = lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum()
    flow = solve_ivp(
        lambda _, v: np.eye(N)[2] - softmax(v),
        (0, 100),
        np.zeros(N),
        t_eval=s,
        rtol=1e-11,
        atol=1e-12,
        method="LSODA",
    )
    np.testing.assert_allclose(classes.margin(s, N), flow.y[2] - flow.y[0], rtol=1e-7)
    want = [-np.log(softmax(v)[2]) for v in flow.y.T]
    np.testing.assert_allclose(classes.margin_loss(classes.margin(s, N), N), want, rtol=1e-6)
    late = classes.margin_loss(classes.margin(1e7, N), N)
    assert float(late) * 1e7 == pytest.approx((N - 1) / N, rel=1e-4)


def test_sign_descent_moves_by_the_rate_when_the_class_is_in_the_batch():
    config = CONFIG.replace(label_noise=0.0, batch_size=3, learning_rate=0.01)
    run = jaxtheory.simulate(
        classes.THEORY, config, KEY, steps=60, algorithm="sign", dtype="float64"
    )
    steps = jax.vmap(lambda t: jax.random.fold_in(jax.random.fold_in(KEY, 2), t))(jnp.arange(60))
    problem = classes.problem(KEY, config)
    draw = lambda key: classes.sample(jax.random.fold_in(key, 0), problem, config).token
    m = 0.02 * np.sum([np.isin(range(5), draw(key)) for key in steps], axis=0)
    np.testing.assert_allclose(run.metrics["class_loss"][-1], classes.margin_loss(m, 5), rtol=1e-9)


def test_presence_counts_batches_without_the_class(drawn):
    pi = np.asarray(drawn[0].frequency)
    np.testing.assert_allclose(classes.presence(drawn[0], CONFIG), 1 - (1 - pi) ** 7)


def test_noise_floor_is_that_of_the_linear_recursion(drawn):
    """v <- (1 - eta pi H) v + noise of covariance eta^2 pi H / B, for a small rate."""
    problem = drawn[0]
    config = CONFIG.replace(learning_rate=1e-6)
    for k in range(5):
        p = np.asarray(problem.transition)[:, k]
        H, pi = np.diag(p) - np.outer(p, p), float(problem.frequency[k])
        basis = np.linalg.svd(np.ones((1, 5)))[2][1:].T  # where 1^T v = 0
        A = np.eye(4) - 1e-6 * pi * basis.T @ H @ basis
        noise = 1e-12 * pi / 7 * basis.T @ H @ basis
        covariance = basis @ solve_discrete_lyapunov(A, noise) @ basis.T
        want = np.trace(H @ covariance) / 2
        assert float(classes.noise_floor(problem, config)[k]) == pytest.approx(want, rel=1e-4)


def test_squared_error_falls_exponentially_with_the_expected_gradient(drawn):
    """The mean of the gradient over all pairs of tokens and labels, in small steps."""
    problem = drawn[0]
    eta, V = 1e-3, np.zeros((5, 5))
    P, pi = (np.asarray(x) for x in (problem.transition, problem.frequency))
    even = np.zeros((5, 5))
    for _ in range(2000):
        V = V - eta * (V - P) * pi
        even = even - eta * (even - P)
    law = classes.predict(problem, CONFIG.replace(learning_rate=eta), np.array([2000]))
    risk = lambda V: classes.metrics(classes.Params(jnp.asarray(V)), problem, CONFIG)["class_error"]
    np.testing.assert_allclose(risk(V), law["class_error:descent"][0], rtol=1e-2)
    np.testing.assert_allclose(risk(even), law["class_error:preconditioned"][0], rtol=1e-2)
