"""The attention-pruning room against plain NumPy: loss, gradients, training, binarization,
baselines, errors, bounds.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.attention_pruning import THEORY, calculus, laws
from jaxtheory.theories.attention_pruning.analyses import baselines, pruning
from jaxtheory.theories.attention_pruning.model import FactorMasks, FusedMask
from tests.reference import attention_pruning_numpy as ap
from tests.reference.agree import agree, slope


def make(d, L, S, **fields):
    return THEORY.Config(dimension=d, length=L, num_sequences=S, **{"rank": 2, **fields})


# Few shapes, so that few operations are compiled.
# saturated (literal), moderate and nearly uniform attention, full rank, other attention masks, L <
# d, one token
CASES = [
    make(5, 7, 2),
    make(5, 7, 2, logit_scale=3.0, regularization=0.1, rank=5),
    make(5, 7, 2, logit_scale=1.0, attention="full", regularization=1e-3),
    make(5, 7, 2, logit_scale=5.0, attention="block", mask_init="half"),
    make(6, 4, 1, logit_scale=10.0),
    make(3, 1, 1, logit_scale=10.0),
]
RUNS = [
    make(5, 7, 2, regularization=1.0, logit_scale=5.0),
    make(5, 7, 2, regularization=3.0, logit_scale=20.0, step_scale=0.1, clip=True),
    make(
        5,
        7,
        2,
        regularization=0.3,
        momentum=0.0,
        step_scale=0.05,
        mask_init="uniform",
        logit_scale=5.0,
    ),
    make(6, 4, 1, regularization=10.0, attention="full", mask_init="half", step_scale=0.02),
]


@cache
def problem(config, seed=0):
    return THEORY.problem(jax.random.key(seed), config)


def arrays(config, seed=0):
    """(X, W, W_Q, W_K, mask) of the problem in NumPy."""
    drawn = problem(config, seed)
    return tuple(
        np.asarray(a)
        for a in (drawn.inputs, drawn.weights, drawn.query, drawn.key, drawn.attention_mask)
    )


def test_the_reference_derivatives_are_derivatives():
    rng = np.random.default_rng(0)
    X, WQ, WK, M, N, V = rng.normal(size=(2, 5, 4)), *rng.normal(size=(5, 4, 4))
    W, mask = WQ @ WK.T, np.tril(np.ones((5, 5), bool))
    agree(ap.gradient(M, X, W, mask, 0.3), slope(lambda m: ap.loss(m, X, W, mask, 0.3), M), 1e-8)
    hvp = (
        ap.gradient(M + 1e-6 * V, X, W, mask, 0.3) - ap.gradient(M - 1e-6 * V, X, W, mask, 0.3)
    ) / 2e-6
    agree(ap.hessian_vector(M, V, X, W, mask, 0.3), hvp, 1e-8)
    dQ, dK = ap.two_mask_gradient((M, N), X, WQ, WK, mask, 0.3)
    agree(dQ, slope(lambda m: ap.two_mask_loss((m, N), X, WQ, WK, mask, 0.3), M), 1e-8)
    agree(dK, slope(lambda m: ap.two_mask_loss((M, m), X, WQ, WK, mask, 0.3), N), 1e-8)


@pytest.mark.parametrize("config", CASES)
def test_the_data_are_as_stated(config):
    """W = W_Q W_K^T, the factors of the given rank and scaled together by tau / 100, the attention
    mask written out.
    """
    X, W, WQ, WK, mask = arrays(config)
    d, L, S = (size.n for size in (config.dimension, config.length, config.num_sequences))
    assert X.shape == (S, L, d)
    agree(W, WQ @ WK.T)
    literal = arrays(config.replace(logit_scale=100.0))
    agree(W, literal[1] * config.logit_scale / 100)
    for factor in (WQ, WK):
        assert np.linalg.matrix_rank(factor) == min(config.rank, d)
    allowed = {
        "causal": lambda i, j: j <= i,
        "full": lambda i, j: True,
        "block": lambda i, j: i // 4 == j // 4,
    }[config.attention]
    assert mask.tolist() == [[allowed(i, j) for j in range(L)] for i in range(L)]


@pytest.mark.parametrize("config", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_fused_loss_gradient_and_hessian(config, seed):
    rng, drawn = np.random.default_rng(seed), problem(config, seed)
    batch = THEORY.sample(jax.random.key(0), drawn, config)
    X, W, _, _, mask = arrays(config, seed)
    M, V = rng.uniform(-0.2, 1.2, size=(2, *W.shape))
    lam = config.regularization
    agree(THEORY.loss(FusedMask(M), batch, drawn, config), ap.loss(M, X, W, mask, lam))
    agree(THEORY.gradient(FusedMask(M), batch, drawn, config).mask, ap.gradient(M, X, W, mask, lam))
    got = calculus.hessian_vector_product(FusedMask(M), FusedMask(V), batch, drawn, config).mask
    agree(got, ap.hessian_vector(M, V, X, W, mask, lam))


@pytest.mark.parametrize("config", CASES)
def test_two_mask_loss_and_gradient(config):
    rng, drawn = np.random.default_rng(2), problem(config)
    X, W, WQ, WK, mask = arrays(config)
    masks = tuple(rng.uniform(-0.2, 1.2, size=(2, *W.shape)))
    batch = THEORY.sample(jax.random.key(0), drawn, config)
    agree(
        THEORY.loss(FactorMasks(*masks), batch, drawn, config),
        ap.two_mask_loss(masks, X, WQ, WK, mask, config.regularization),
    )
    got = THEORY.gradient(FactorMasks(*masks), batch, drawn, config)
    for g, want in zip(
        (got.query, got.key),
        ap.two_mask_gradient(masks, X, WQ, WK, mask, config.regularization),
        strict=True,
    ):
        agree(g, want)


@cache
def train(name, config, steps=12):
    """The params at t = 0..steps, through the contract alone."""
    algorithm, drawn, key = THEORY.algorithms[name], problem(config), jax.random.key(3)
    state = algorithm.init(key, drawn, config)
    path = [algorithm.params(state, drawn, config)]
    for t in range(steps):
        state = algorithm.step(key, t, state, THEORY.sample(key, drawn, config), drawn, config)
        path.append(algorithm.params(state, drawn, config))
    return path


@pytest.mark.parametrize("config", RUNS)
def test_gradient_descent(config):
    X, W, _, _, mask = arrays(config)
    path = train("gradient_descent", config)
    lam = config.regularization
    start = np.asarray(path[0].mask)
    if config.mask_init != "uniform":
        agree(start, np.full(W.shape, {"ones": 1.0, "half": 0.5}[config.mask_init]))
    grad = lambda M: ap.gradient(M, X, W, mask, lam)
    wanted = ap.descend(start, grad, config.step_scale / lam, config.momentum, 12, config.clip)
    for params, want in zip(path, wanted, strict=True):
        agree(params.mask, want)


@pytest.mark.parametrize("config", RUNS)
def test_smooth_descent(config):
    X, W, _, _, mask = arrays(config)
    path, lam = train("smooth", config), config.regularization
    grad = lambda M: ap.gradient(M, X, W, mask, lam)
    wanted = ap.descend(np.asarray(path[0].mask), grad, 1 / ap.lipschitz(X, W, lam), 0.0, 12, False)
    for params, want in zip(path, wanted, strict=True):
        agree(params.mask, want)


@pytest.mark.parametrize("config", RUNS)
def test_two_mask_descent(config):
    X, _, WQ, WK, mask = arrays(config)
    path = train("two_mask", config)
    lam = config.regularization
    grad = lambda pair: np.stack(ap.two_mask_gradient(tuple(pair), X, WQ, WK, mask, lam))
    start = np.stack([np.asarray(m) for m in path[0]])
    for params, want in zip(
        path,
        ap.descend(start, grad, config.step_scale / lam, config.momentum, 12, config.clip),
        strict=True,
    ):
        agree(np.stack(params), want)


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.29, 0.3, 0.5, 0.57, 0.58, 0.7, 0.99])
@pytest.mark.parametrize("levels", [3, 1000])
def test_binarization(rho, levels):
    """Same zeros, ties included, at ratios whose product with the size is an integer only in
    decimal.
    """
    scores = np.random.default_rng(levels).integers(levels, size=(10, 10)).astype(float)
    kept = pruning.binarize(scores, rho, np.ones((10, 10), bool))
    assert np.array_equal(kept, ap.keep(scores, rho) > 0)
    assert int(np.sum(~np.asarray(kept))) == round(100 * rho)


def test_counts_are_decimal_floors():
    binarize = jax.jit(pruning.binarize)
    for d in (1, 3, 7, 10, 25):
        scores = np.arange(float(d * d)).reshape(d, d)
        for percent in range(0, 100, 3):
            kept = binarize(scores, percent / 100, np.ones((d, d), bool))
            assert int(np.sum(~np.asarray(kept))) == percent * d * d // 100


compiled_wanda, compiled_sparsegpt = (
    jax.jit(baselines.wanda),
    jax.jit(baselines.sparsegpt, static_argnames="block_size"),
)
PLAIN = [
    config for config in CASES if config.attention == "causal"
]  # baselines meet the attention mask in their errors only


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("config", PLAIN)
def test_layer_baselines(config, rho):
    X, _, WQ, WK, _ = arrays(config)
    gram, config = np.einsum("sia,sib->ab", X, X), config.replace(pruning_ratio=rho)
    for W in (WQ, WK):
        agree(compiled_wanda(W, gram, config), ap.wanda(W, X, rho))
        agree(
            compiled_sparsegpt(W, gram, config), ap.sparsegpt(W, X, rho)
        )  # through a Cholesky factor there, explicit inverses here


@pytest.mark.parametrize("block", [1, 2, 3, 128])
def test_sparsegpt_blocks(block):
    """Blocks that do and do not divide d, more tokens than inputs and fewer, and a dead input."""
    rng, config = np.random.default_rng(block), make(7, 9, 1, pruning_ratio=0.45)
    for tokens in (9, 4):
        X, W = rng.normal(size=(1, tokens, 7)), rng.normal(size=(7, 7))
        X[..., 2] = 0.0
        got = compiled_sparsegpt(W, X[0].T @ X[0], config, block_size=block)
        agree(got, ap.sparsegpt(W, X, 0.45, block))
        assert not np.any(np.asarray(got)[2])


@pytest.mark.parametrize("config", [CASES[0], CASES[1], CASES[2], CASES[4]])
@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_errors_of_baselines(config, rho):
    config = config.replace(pruning_ratio=rho)
    X, W, WQ, WK, mask = arrays(config)
    drawn = problem(config)
    heldout = np.asarray(drawn.heldout)
    pruned = ap.baselines(WQ, WK, X, rho) | {
        "random": W * ap.keep(np.asarray(drawn.uniform[2]), rho)
    }
    got = jax.jit(THEORY.baselines)(drawn, config)
    pruners = THEORY.coords(config)["pruner"]
    assert pruners[0] == "gradient"
    for i, pruner in enumerate(pruners[1:]):
        agree(got["relative_error"][i], ap.relative_error(pruned[pruner], X, W, mask))
        agree(got["relative_error_heldout"][i], ap.relative_error(pruned[pruner], heldout, W, mask))
        _, error, error_heldout = ap.rescaled_errors(pruned[pruner], X, heldout, W, mask)
        agree(got["relative_error_rescaled"][i], error)
        agree(got["relative_error_rescaled_heldout"][i], error_heldout)


@pytest.mark.parametrize("config", RUNS)
@pytest.mark.parametrize("rho", [0.25, 0.5])
def test_metrics_after_training(config, rho):
    X, W, WQ, WK, mask = arrays(config)
    drawn = problem(config)
    heldout = np.asarray(drawn.heldout)
    for name in THEORY.algorithms:
        params = train(name, config)[4]
        got = THEORY.metrics(params, drawn, config.replace(pruning_ratio=rho))
        masks = [np.asarray(m) for m in params]
        if name == "two_mask":
            pruned = (WQ * ap.keep(masks[0], rho)) @ (WK * ap.keep(masks[1], rho)).T
            loss = ap.two_mask_loss(tuple(masks), X, WQ, WK, mask, config.regularization)
        else:
            pruned, loss = (
                W * ap.keep(masks[0], rho),
                ap.loss(masks[0], X, W, mask, config.regularization),
            )
        penalty = config.regularization / 2 * sum((m**2).sum() for m in masks)
        agree(got["loss"], loss)
        agree(got["attention_loss"], loss - penalty)
        agree(got["mask_norm"], np.sqrt(sum((m**2).sum() for m in masks)))
        agree(got["relative_error"], [ap.relative_error(pruned, X, W, mask)])
        agree(got["relative_error_heldout"], [ap.relative_error(pruned, heldout, W, mask)])


def test_ranking_by_masked_weight():
    config = make(5, 7, 1, ranking="magnitude_mask", pruning_ratio=0.4)
    X, W, _, _, mask = arrays(config)
    M = np.random.default_rng(4).normal(size=(5, 5))
    got = THEORY.metrics(FusedMask(jnp.asarray(M)), problem(config), config)
    agree(got["relative_error"], [ap.relative_error(W * ap.keep(np.abs(M * W), 0.4), X, W, mask)])


@pytest.mark.parametrize("config", CASES)
def test_lipschitz_constant(config):
    X, W, _, _, _ = arrays(config)
    drawn = problem(config)
    batch = THEORY.sample(jax.random.key(0), drawn, config)
    agree(laws.lipschitz(batch, drawn, config).gradient, ap.lipschitz(X, W, config.regularization))


def test_polyak_lojasiewicz_chain():
    config = make(6, 4, 1, logit_scale=1.0, regularization=1e-3, rank=6)
    X, W, _, _, mask = arrays(config)
    drawn, M = problem(config), np.random.default_rng(5).uniform(size=(6, 6))
    batch = THEORY.sample(jax.random.key(0), drawn, config)
    delta, beta, w_min, mu, xi = ap.pl_constants(M, X[0], W, mask, config.regularization)
    got = laws.chain(jnp.asarray(delta), batch, drawn, config)
    for g, want in zip(got, (w_min * beta * delta, mu, xi), strict=True):
        agree(g, want, floor=0)
    slope_norm = (ap.gradient(M, X, W, mask, config.regularization) ** 2).sum()
    assert slope_norm >= mu / 2 * (ap.attention_loss(M * W, X, W, mask) - xi)


def test_padding_changes_nothing():
    """Loss, gradient and errors of arrays with spare room, on their valid entries."""
    config = make(4, 5, 1, logit_scale=5.0, pruning_ratio=0.4)
    wide = config.pad(dimension=5, length=7, num_sequences=2)
    drawn = THEORY.problem(jax.random.key(6), wide)
    X, W, WQ, WK = (
        np.asarray(drawn.inputs)[:1, :5, :4],
        *(np.asarray(a)[:4, :4] for a in (drawn.weights, drawn.query, drawn.key)),
    )
    heldout, mask = np.asarray(drawn.heldout)[:, :5, :4], np.asarray(drawn.attention_mask)[:5, :5]
    M = np.random.default_rng(7).uniform(size=(4, 4))
    params, batch = FusedMask(jnp.pad(M, (0, 1))), THEORY.sample(jax.random.key(0), drawn, wide)
    agree(THEORY.loss(params, batch, drawn, wide), ap.loss(M, X, W, mask, 5.0))
    agree(
        THEORY.gradient(params, batch, drawn, wide).mask,
        np.pad(ap.gradient(M, X, W, mask, 5.0), (0, 1)),
    )
    agree(
        THEORY.metrics(params, drawn, wide)["relative_error_heldout"],
        [ap.relative_error(W * ap.keep(M, 0.4), heldout, W, mask)],
    )
    got, pruned = jax.jit(THEORY.baselines)(drawn, wide), ap.baselines(WQ, WK, X, 0.4)
    for i, pruner in enumerate(THEORY.coords(wide)["pruner"][1:5]):
        agree(got["relative_error"][i], ap.relative_error(pruned[pruner], X, W, mask))
