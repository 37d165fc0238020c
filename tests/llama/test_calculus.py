"""The closed gradients of the two masks against autodiff and finite differences."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

from jaxtheory import llama
from jaxtheory.llama import masks, model

SHAPES = [(1, 1), (4, 4), (4, 2), (8, 2), (6, 1)]


def setting(heads, groups, scale, tokens=7, seed=0):
    """A layer, inputs, target and masks in float64."""
    config = llama.Config(20, 12, 16, 1, heads, groups, 6)
    rng = np.random.default_rng(seed)
    layer = llama.init(jax.random.key(seed), config, scale).layers[0]
    layer = jax.tree.map(lambda a: a.astype(jnp.float64), layer)
    x = jnp.asarray(rng.normal(size=(3, tokens, 12)))
    target = model.attention(layer, x, config)
    return (
        config,
        layer,
        x,
        target,
        masks.Masks(
            *(jnp.asarray(rng.normal(0.5, 0.7, a.shape)) for a in (layer.query, layer.key))
        ),
    )


@pytest.mark.parametrize(("heads", "groups"), some(SHAPES, (1, 1), (4, 2)))
def test_gradient_is_that_of_the_loss(heads, groups):
    for scale in (0.05, 0.5, 3.0):
        config, layer, x, target, M = setting(heads, groups, scale)
        want = jax.grad(masks._loss)(M, target, layer, x, 0.3, config)
        got = masks._gradient(M, target, layer, x, 0.3, config)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * float(jnp.abs(b).max()))


def test_gradient_at_degenerate_points():
    """At M = 1 only lambda M is left; at M = 0 attention is uniform; one token sees itself."""
    config, layer, x, target, M = setting(4, 2, 0.5)
    ones, zeros = masks._ones(layer), jax.tree.map(jnp.zeros_like, M)
    for got in masks._gradient(ones, target, layer, x, 0.7, config):
        np.testing.assert_allclose(got, 0.7, atol=1e-14)
    for got in masks._gradient(zeros, target, layer, x, 0.7, config):
        np.testing.assert_array_equal(got, 0)  # the product of two zero factors is stationary
    config, layer, x, target, M = setting(4, 2, 0.5, tokens=1)
    for got, mask in zip(masks._gradient(M, target, layer, x, 0.7, config), M, strict=True):
        np.testing.assert_allclose(got, 0.7 * mask, atol=1e-14)


def test_gradient_by_differences():
    config, layer, x, target, M = setting(6, 2, 0.5)
    rng = np.random.default_rng(1)
    V = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)), M)
    shifted = lambda e: masks._loss(
        jax.tree.map(lambda a, b: a + e * b, M, V), target, layer, x, 0.3, config
    )
    got = masks._gradient(M, target, layer, x, 0.3, config)
    slope = sum(float(jnp.vdot(a, b)) for a, b in zip(got, V, strict=True))
    assert abs((shifted(1e-5) - shifted(-1e-5)) / 2e-5 - slope) < 1e-7 * abs(slope)


def test_one_head_is_equation_one_of_the_source():
    """With one head, and rotations so slow that nothing turns, the loss and its gradient are those
    of the room's two-mask form.
    """
    from jaxtheory.theories import attention_pruning as room
    from jaxtheory.theories.attention_pruning.model import Batch, FactorMasks, Problem

    config, layer, x, target, M = setting(1, 1, 0.8)
    slow = dataclasses.replace(config, rope=llama.Rope(kind="linear", factor=1e30))
    target = model.attention(layer, x, slow)
    room_config = room.Config(dimension=12, length=7, num_sequences=3, rank=4, regularization=0.3)
    square = lambda a: jnp.pad(a, ((0, 0), (0, 12 - a.shape[1])))
    Q, K = square(layer.query) / 6**0.5, square(layer.key)  # 1/sqrt(e) is part of the weights there
    causal = jnp.tril(jnp.ones((7, 7), bool))
    problem = Problem(x, x[:1], Q, K, Q @ K.T, causal, jnp.zeros((3, 12, 12)))
    factor_masks = FactorMasks(square(M.query), square(M.key))
    want = room.THEORY.loss(factor_masks, Batch(x), problem, room_config)
    np.testing.assert_allclose(masks._loss(M, target, layer, x, 0.3, slow), want, rtol=1e-12)
    for got, wanted in zip(
        masks._gradient(M, target, layer, x, 0.3, slow),
        room.THEORY.gradient(factor_masks, Batch(x), problem, room_config),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted[:, :6], atol=1e-12)


def test_fitting_descends():
    """Masks that are fitted cost less than masks that are not, at every stop more so."""
    from jaxtheory.theories.attention_pruning.analyses.linear import Rule

    config, layer, x, target, _ = setting(4, 2, 0.8)
    options = masks.Fit(steps=60, stops=(0.1, 0.5, 1.0), step_scale=0.0005)
    fits = masks.fit_masks(jax.random.key(0), target, layer, x, 0.01, Rule(0.5), options, config)
    losses = [
        float(masks._loss(jax.tree.map(lambda a, i=i: a[i], fits), target, layer, x, 0.01, config))
        for i in range(3)
    ]
    start = float(masks._loss(masks._ones(layer), target, layer, x, 0.01, config))
    assert start > losses[0] > losses[1] > losses[2]


FITS = {
    "momentum": masks.Fit(steps=4, step_scale=0.02, momentum=0.5, clip=False),
    "clipped": masks.Fit(steps=4, step_scale=0.02, momentum=0.5),
    "batches and stops": masks.Fit(
        steps=4, step_scale=0.01, momentum=0.0, clip=False, batch=2, stops=(0.25, 0.5, 1.0)
    ),
    "ratio-aware": masks.Fit(steps=3, step_scale=0.02, ratio_aware=True),
}


@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_the_fit_is_that_of_a_plain_loop(options):
    """V <- beta V + grad L, M <- M - (c / lambda) V, in NumPy with the gradient of autodiff."""
    from jaxtheory.theories.attention_pruning.analyses.linear import Rule

    config, layer, x, target, _ = setting(4, 2, 0.8)
    key, lam = jax.random.key(7), 0.1
    fits = masks.fit_masks(key, target, layer, x, lam, Rule(0.5), options, config)
    M = [np.ones(W.shape) for W in (layer.query, layer.key)]
    V, iterates = [np.zeros(W.shape) for W in M], []
    gradient = jax.jit(lambda M, target, x: jax.grad(masks._loss)(M, target, layer, x, 0.0, config))
    for t in range(options.steps):
        drawn = np.arange(len(x))
        if options.batch:
            at = jax.random.fold_in(key, t)
            drawn = np.asarray(jax.random.choice(at, len(x), (options.batch,), replace=False))
        applied = M
        if options.ratio_aware:  # the smaller half of each matrix is 0, the rest 1; ties by index
            order = [np.argsort(W, axis=None, kind="stable").argsort() for W in M]
            applied = [
                (o >= W.size // 2).reshape(W.shape) * 1.0 for o, W in zip(order, M, strict=True)
            ]
        slope = gradient(masks.Masks(*applied), target[drawn], x[drawn])
        V = [options.momentum * v + g + lam * W for v, g, W in zip(V, slope, M, strict=True)]
        M = [W - options.step_scale / lam * v for W, v in zip(M, V, strict=True)]
        M = [np.clip(W, 0, 1) if options.clip else W for W in M]
        iterates.append(M)
    for i, share in enumerate(options.stops):
        for got, want in zip(fits, iterates[round(share * options.steps) - 1], strict=True):
            np.testing.assert_allclose(got[i], want, atol=1e-12)
