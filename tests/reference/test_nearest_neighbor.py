"""The nearest-neighbor room against plain NumPy: prompts, loss, gradients, both parametrizations,
the population, metrics under shift.
"""

from decimal import Decimal, localcontext
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.nearest_neighbor import THEORY, calculus, model
from jaxtheory.theories.nearest_neighbor.data import flipped
from jaxtheory.theories.nearest_neighbor.laws import population
from jaxtheory.theories.nearest_neighbor.model import Full, Prompts, Reduced
from tests.reference import nearest_neighbor_numpy as nn
from tests.reference.agree import agree, slope


def make(d, N, B, **fields):
    return THEORY.Config(dimension=d, context=N, num_prompts=B, num_test=40, **fields)


# drawn and averaged labels, the smallest dimension, a single example, a single prompt, no mask
CONFIGS = [
    make(3, 4, 5),
    make(3, 4, 5, labels="gaussian", learning_rate=0.3),
    make(2, 3, 4, labels="rademacher", mask=0.0),
    make(2, 1, 3, mask=1.0, initial_alignment=0.5),
    make(4, 3, 1, mask=2.0, learning_rate=3.0),
]
gradient, loss = jax.jit(THEORY.gradient), jax.jit(THEORY.loss)


@cache
def problem(config):
    return THEORY.problem(jax.random.key(5), config)


def prompts(batch):
    """A batch as the reference takes it; averaged labels become every labeling."""
    x, q = np.asarray(batch.x), np.asarray(batch.q)
    if batch.y is None:
        return [prompt for i in range(len(x)) for prompt in nn.over_labels(x[i], q[i])]
    return [(x[i], q[i], np.asarray(batch.y)[i]) for i in range(len(x))]


def draw(config, scale, labeled, seed=0):
    """A random W; where labels are averaged its part for labels is 0, as the room has it."""
    h = config.dimension.n + 2
    W = scale * np.random.default_rng(seed).normal(size=(h, h))
    if not labeled:
        W[-2] = W[:, -2] = 0
    return W


def test_the_reference_gradient_is_a_gradient():
    data = prompts(problem(CONFIGS[1]).train)
    W = draw(CONFIGS[1], 0.7, True)
    agree(nn.gradient(W, data), slope(lambda x: nn.loss(x, data), W), 1e-7)


@pytest.mark.parametrize("config", CONFIGS)
def test_prompts(config):
    """Points of the sphere, their inner products, the nearest example by distance."""
    for batch in (problem(config).train, problem(config).test):
        x, q = np.asarray(batch.x), np.asarray(batch.q)
        agree((x**2).sum(axis=2), np.ones(x.shape[:2]), 1e-14)
        agree(batch.t, np.einsum("bnd,bd->bn", x, q), 1e-14)
        assert batch.nearest.tolist() == [nn.nearest(a, b) for a, b in zip(x, q, strict=True)]


@pytest.mark.parametrize("scale", [0.0, 0.5, 8.0])
@pytest.mark.parametrize("config", CONFIGS)
def test_full_layer_and_gradient(config, scale):
    drawn, labeled = problem(config), config.labels != "averaged"
    W = draw(config, scale, labeled)
    params, data = Full(jnp.asarray(W)), prompts(drawn.train)
    s = np.asarray(model.attend(params, drawn.train, config)).T
    each = len(data) // len(s)
    for i in range(len(s)):
        agree(s[i], nn.attention(W, nn.matrix(*data[each * i])), 1e-12)
    agree(loss(params, drawn.train, drawn, config), nn.loss(W, data), 1e-12)
    agree(gradient(params, drawn.train, drawn, config).W, nn.gradient(W, data), 1e-12)


@pytest.mark.parametrize("xi", [(0.0, 0.0), (0.7, 2.0), (12.0, -1.0)])
@pytest.mark.parametrize("config", CONFIGS)
def test_reduced_layer_and_gradient(config, xi):
    """dL/dxi1 is the trace of dL/dW_11, dL/dxi2 minus the last entry."""
    drawn, d = problem(config), config.dimension.n
    params, W, data = (
        Reduced(*map(jnp.asarray, xi)),
        nn.structured(config.dimension.n, *xi),
        prompts(drawn.train),
    )
    agree(calculus.lift(params, config).W, W, 0)
    agree(loss(params, drawn.train, drawn, config), nn.loss(W, data), 1e-12)
    got, want = gradient(params, drawn.train, drawn, config), nn.gradient(W, data)
    agree(got.xi1, np.trace(want[:d, :d]), 1e-11)
    agree(got.xi2, -want[-1, -1], 1e-11)


def run(config, name, steps, drawn=None):
    """Params at t = 0..steps through the contract alone."""
    algorithm, drawn = THEORY.algorithms[name], drawn or problem(config)
    advance = jax.jit(algorithm.step)
    state = algorithm.init(jax.random.key(0), drawn, config)
    path = [algorithm.params(state, drawn, config)]
    for t in range(steps):
        state = advance(
            jax.random.key(t),
            t,
            state,
            THEORY.sample(jax.random.key(t), drawn, config),
            drawn,
            config,
        )
        path.append(algorithm.params(state, drawn, config))
    return path


@pytest.mark.parametrize("config", CONFIGS[:3] + CONFIGS[4:])
def test_descent_on_w(config):
    W = nn.start(config.dimension.n, config.mask)
    for params, want in zip(
        run(config, "literal", 8),
        nn.descend(W, prompts(problem(config).train), config.learning_rate, 8),
        strict=True,
    ):
        agree(params.W, want, 1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_the_reduction_is_descent_on_w_over_symmetrized_prompts(d):
    """Prompts under all signed permutations of the coordinates: W keeps its form, xi1 moves at eta
    / d and xi2 at eta.
    """
    config = make(d, 3, 2, learning_rate=2.0, mask=1.0)
    base = problem(config).train
    data = [
        p
        for i in range(2)
        for x, q in nn.symmetries(np.asarray(base.x)[i], np.asarray(base.q)[i])
        for p in nn.over_labels(x, q)
    ]
    path = nn.descend(nn.start(d, 1.0), data, 2.0, 5)
    for params, W in zip(run(config, "reduced", 5), path, strict=True):
        agree(nn.structured(d, float(params.xi1), float(params.xi2)), W, 1e-12)
        agree(calculus.reduce(Full(jnp.asarray(W)), config), (params.xi1, params.xi2), 1e-12)


@pytest.mark.parametrize("xi", [(0.0, 5.0), (1.0, 0.0), (3.0, 2.0), (6.0, 9.0)])
def test_population_loss(xi):
    """d = 3, N = 2 by Gauss-Legendre; d = 4, N = 5 by Monte Carlo."""
    params = Reduced(*map(jnp.asarray, xi))
    agree(population.loss(params, make(3, 2, 1)), nn.population_loss(*xi), 1e-9)
    rng, W = np.random.default_rng(1), nn.structured(4, *xi)
    values = []
    for points in nn.sphere(rng, 6 * 4000, 4).reshape(4000, 6, 4):
        s, best = (
            nn.attention(W, nn.matrix(points[1:], points[0], np.zeros(5))),
            nn.nearest(points[1:], points[0]),
        )
        values.append(((s[:-1] ** 2).sum() - 2 * s[best] + 1) / 2)
    assert (
        abs(np.mean(values) - float(population.loss(params, make(4, 5, 1))))
        <= 5 * np.std(values) / np.sqrt(4000) + 1e-9
    )


@pytest.mark.parametrize("delta", [0.0, 0.3, 1.5, 4.0])
def test_shift(delta):
    """Near points go to their antipodes, the query's own example stays; the error is that of the
    shifted prompts, labels averaged.
    """
    config = make(3, 4, 5, separation=delta)
    drawn = problem(config)
    got, test = flipped(drawn.shift, delta, config), np.asarray(drawn.test.x)
    for i, x in enumerate(test):
        agree(got.x[i], nn.separated(x, 0, delta), 1e-15)
        agree(got.t[i], got.x[i] @ x[0], 1e-12)
    W = nn.structured(3, 4.0, 3.0)
    errors = []
    for x in test:
        s = nn.attention(W, nn.matrix(nn.separated(x, 0, delta), x[0], np.zeros(4)))[:-1]
        errors.append((s**2).sum() - 2 * s[0] + 1)
    measured = jax.jit(THEORY.metrics)(Reduced(jnp.asarray(4.0), jnp.asarray(3.0)), drawn, config)
    agree(measured["shift_error"], np.mean(errors), 1e-11)


@pytest.mark.parametrize("config", CONFIGS)
def test_metrics(config):
    """A full W: its two numbers, its distance from them, errors and signs on the test prompts."""
    labeled, drawn, d = config.labels != "averaged", problem(config), config.dimension.n
    W = draw(config, 1.5, labeled, 3)
    got = jax.jit(THEORY.metrics)(Full(jnp.asarray(W)), drawn, config)
    xi1, xi2 = np.trace(W[:d, :d]) / d, -W[-1, -1]
    test = prompts(drawn.test)
    if not labeled:
        test = [(x, q, np.sign(y)) for x, q, y in test]
    outputs = np.array([nn.output(W, nn.matrix(*p)) for p in test])
    targets = np.array([y[nn.nearest(x, q)] for x, q, y in test])
    want = {
        "loss": nn.loss(W, prompts(drawn.train)),
        "xi1": xi1,
        "xi2": xi2,
        "off_structure": np.linalg.norm(W - nn.structured(d, xi1, xi2)),
        "agreement": np.mean(np.sign(outputs) == np.sign(targets)),
        "test_loss": np.mean((outputs - targets) ** 2) / 2
        if labeled
        else nn.loss(W, prompts(Prompts(drawn.test.x, drawn.test.q, None, None, None, None))),
    }
    for name, value in want.items():
        agree(got[name], value, 1e-11)


@pytest.mark.parametrize("mask", [5.0, 150.0])
@pytest.mark.parametrize("xi1", [-3.0, 0.5, 60.0, 120.0])
def test_the_gradient_keeps_its_digits_where_attention_is_sharp(xi1, mask):
    """One prompt against 120 decimal digits: 1 - s* is as small as exp(-60)."""
    t = [0.9, 0.4, -0.3]
    config = THEORY.Config(dimension=3, context=3, num_prompts=1)
    prompts = Prompts(None, None, jnp.array([t]), jnp.zeros(1, jnp.int32), None, jnp.ones(1))
    params = Reduced(jnp.asarray(xi1), jnp.asarray(mask))
    found = calculus.averaged_gradient(params, prompts, config)
    with localcontext(prec=120):
        digits = [Decimal(x) for x in t]
        z = [Decimal(xi1) * x for x in digits] + [Decimal(xi1) - Decimal(mask)]
        e = [x.exp() for x in z]
        s = [x / sum(e) for x in e]
        Q, star = sum(x * x for x in s[:-1]), s[0]
        g = [x * (x - Q + star - (i == 0)) for i, x in enumerate(s[:-1])]
        of_query = s[-1] * (star - Q)
        want = float(sum(a * b for a, b in zip(g, digits, strict=True)) + of_query)
        np.testing.assert_allclose(found, [want, float(-of_query)], rtol=1e-12)
