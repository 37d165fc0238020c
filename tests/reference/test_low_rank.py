"""The low-rank room against plain NumPy: data, forward pass, loss, gradients, SGD and LoRA, what is
looked at afterwards.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.low_rank import THEORY
from jaxtheory.theories.low_rank.model import Params, forward, initial
from tests.reference import low_rank_numpy as lr
from tests.reference.agree import agree, slope

SMALL = {
    "num_patterns": 4,
    "dimension": 5,
    "num_neurons": 6,
    "num_relevant": 2,
    "num_confusion": 1,
    "batch_size": 2,
}
SIZES = SMALL | {
    "num_samples": 4,
    "num_test": 3,
    "query_dim": 4,
    "value_dim": 5,
    "noise": 0.2,
    "init_diagonal": 0.5,
    "output_scale": 0.7,
}


def make(**fields):
    return THEORY.Config(**SIZES | fields)


# both readings of A, few queries, heads, layers, several classes, no irrelevant tokens, m_a and m_b
# unlike d
CONFIGS = [
    make(),
    make(output="per_token", num_queries=2, value_dim=3),
    make(task="multiclass", num_classes=3, num_relevant_patterns=3, query_dim=6, value_dim=7),
    make(num_heads=2, output="per_token", coherence=0.6, noise_law="unit"),
    make(
        num_layers=2, num_heads=2, counts="random", occurrence="together", num_relevant_patterns=4
    ),
    make(
        num_layers=3, num_irrelevant_each=0, num_confusion=0, labels="random", noise_law="bounded"
    ),
]
gradient, loss, run_forward = jax.jit(THEORY.gradient), jax.jit(THEORY.loss), jax.jit(forward)


@cache
def problem(config):
    return THEORY.problem(jax.random.key(7), config)


def model(config):
    drawn = problem(config)
    A = np.asarray(drawn.signs) / np.sqrt(config.num_neurons.n)
    return lr.Model(
        A, config.num_queries or drawn.train.tokens.shape[1], config.task == "multiclass"
    )


def samples(batch):
    """A batch as the reference takes it: (X, y) per sample."""
    return [(np.asarray(X), int(y)) for X, y in zip(batch.tokens, batch.label, strict=True)]


def arrays(params):
    return tuple(map(np.asarray, params))


def draw(config, scale, seed=0):
    """W(0) with noise of a scale."""
    rng = np.random.default_rng(seed)
    return tuple(
        np.asarray(W) + scale * rng.normal(size=W.shape) for W in initial(problem(config), config)
    )


def same(got, want, tolerance=1e-12):
    for a, b in zip(got, want, strict=True):
        agree(a, b, tolerance)


@pytest.mark.parametrize("config", [CONFIGS[2], CONFIGS[4]])
def test_the_reference_gradient_is_a_gradient(config):
    params, data, the = draw(config, 0.4), samples(problem(config).train), model(config)
    for i, got in enumerate(lr.gradient(params, data, the)):
        agree(
            got,
            slope(lambda W, i=i: lr.loss((*params[:i], W, *params[i + 1 :]), data, the), params[i]),
            1e-6,
        )


@pytest.mark.parametrize("config", CONFIGS)
def test_tokens_are_their_patterns_and_labels_the_majority(config):
    drawn = problem(config)
    U, R, C = np.asarray(drawn.patterns), config.num_relevant_patterns.n, config.num_classes.n
    radius = {"bounded": config.noise, "gaussian": 6 * config.noise * np.sqrt(5), "unit": 2.0}[
        config.noise_law
    ]
    for batch in (drawn.train, drawn.test):
        for (X, y), pattern in zip(samples(batch), np.asarray(batch.pattern), strict=True):
            votes = [int(np.sum((pattern < R) & (pattern % C == c))) for c in range(C)]
            assert votes[y] == max(votes)
            if config.counts == "exact":
                assert sorted(votes)[-2:] == [config.num_confusion.n, config.num_relevant.n]
                assert np.sum(pattern >= R) == config.num_irrelevant_each.n * (
                    config.num_patterns.n - R
                )
            assert np.all(np.linalg.norm(X - U[pattern], axis=1) <= radius * (1 + 1e-12))
            if config.noise_law == "unit":
                agree(np.linalg.norm(X, axis=1), np.ones(len(X)), 1e-14)
    gram = np.eye(len(U))
    gram[0, 1] = gram[1, 0] = config.coherence
    agree(U @ U.T, gram, 1e-14)


@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("config", CONFIGS)
def test_forward_loss_and_gradient(config, scale):
    params, drawn, the = draw(config, scale), problem(config), model(config)
    ours, data = Params(*map(jnp.asarray, params)), samples(drawn.train)
    agree(
        run_forward(ours, drawn.train.tokens, drawn, config).F,
        [lr.outputs(params, X, the) for X, _ in data],
        1e-12,
    )
    agree(loss(ours, drawn.train, drawn, config), lr.loss(params, data, the), 1e-12)
    same(gradient(ours, drawn.train, drawn, config), lr.gradient(params, data, the), 1e-11)


def run(config, name, steps):
    """States and params at t = 0..steps, and the batches, through the contract alone."""
    algorithm, drawn = THEORY.algorithms[name], problem(config)
    advance, draw_batch = jax.jit(algorithm.step), jax.jit(THEORY.sample)
    state, batches = algorithm.init(jax.random.key(1), drawn, config), []
    states, path = [state], [algorithm.params(state, drawn, config)]
    for t in range(steps):
        batches.append(draw_batch(jax.random.key(t), drawn, config))
        state = advance(jax.random.key(t), t, state, batches[-1], drawn, config)
        states, path = [*states, state], [*path, algorithm.params(state, drawn, config)]
    return states, path, batches


@pytest.mark.parametrize("config", [CONFIGS[1], CONFIGS[2], CONFIGS[4]])
def test_sgd(config):
    _, path, batches = run(config, "sgd", 5)
    train = [X.tobytes() for X, _ in samples(problem(config).train)]
    for batch in batches:
        chosen = [train.index(X.tobytes()) for X, _ in samples(batch)]
        assert len(set(chosen)) == config.batch_size.n
    want = lr.descend(
        arrays(path[0]), [samples(b) for b in batches], config.learning_rate, model(config)
    )
    for got, params in zip(path, want, strict=True):
        same(got, params, 1e-11)


@pytest.mark.parametrize("config", [CONFIGS[0], CONFIGS[3]])
def test_lora(config):
    states, path, batches = run(config, "lora", 4)
    start, factors = (
        arrays(initial(problem(config), config)),
        tuple(map(list, map(arrays, states[0]))),
    )
    want = lr.descend_factors(
        start, factors, [samples(b) for b in batches], config.learning_rate, model(config)
    )
    for got, state in zip(path, want, strict=True):
        same(got, lr.merged(start, state), 1e-11)


def marked(batch, config):
    """(X, which tokens are of a pattern of the label's class)."""
    R, C = config.num_relevant_patterns.n, config.num_classes.n
    pattern, label = np.asarray(batch.pattern), np.asarray(batch.label)
    return [
        (np.asarray(X), (p < R) & (p % C == y))
        for X, p, y in zip(batch.tokens, pattern, label, strict=True)
    ]


@pytest.mark.parametrize("config", CONFIGS)
def test_metrics(config):
    params, drawn, the = draw(config, 0.5, 1), problem(config), model(config)
    got, test = (
        jax.jit(THEORY.metrics)(Params(*map(jnp.asarray, params)), drawn, config),
        samples(drawn.test),
    )
    start = arrays(initial(drawn, config))
    singular = [
        s
        for W, V in zip(params, start, strict=True)
        for s in np.linalg.svd(W - V, compute_uv=False).reshape(-1, min(W.shape[-2:]))
    ]
    agree(got["loss"], lr.loss(params, test, the), 1e-11)
    agree(got["error"], lr.error(params, test, the), 1e-11)
    agree(
        got["relevant_attention"],
        lr.relevant_attention(params, marked(drawn.test, config), False),
        1e-11,
    )
    agree(
        got["relevant_query_attention"],
        lr.relevant_attention(params, marked(drawn.test, config), True),
        1e-11,
    )
    for row, want in zip(np.asarray(got["singular_values"]), singular, strict=True):
        agree(row[: len(want)], want, 1e-11)
        assert not row[len(want) :].any()


@pytest.mark.parametrize("config", [CONFIGS[0], CONFIGS[1], CONFIGS[2], CONFIGS[3]])
def test_analyses(config):
    """Every rank by a truncation of its own, every rate by a forward pass of its own."""
    params, drawn, the = draw(config, 0.5, 2), problem(config), model(config)
    got = jax.jit(THEORY.analyses)(Params(*map(jnp.asarray, params)), drawn, config)
    start, test, coords = arrays(initial(drawn, config)), samples(drawn.test), THEORY.coords(config)
    for i, rank in enumerate(coords["kept_rank"]):
        cut = lr.truncated(start, params, rank)
        agree(got["truncated_loss"][i], lr.loss(cut, test, the), 1e-10)
        agree(
            got["truncated_attention"][i],
            lr.relevant_attention(cut, marked(drawn.test, config), False),
            1e-10,
        )
    norms, m = np.linalg.norm(params[3], axis=1), config.num_neurons.n
    agree(got["neuron_norms"], norms, 1e-12)
    orders = {
        "small": np.argsort(norms, kind="stable"),
        "large": np.argsort(-norms, kind="stable"),
        "change": np.argsort(np.linalg.norm(params[3] - start[3], axis=1), kind="stable"),
        "random": np.argsort(np.asarray(drawn.shuffle), kind="stable"),
    }
    for name, order in orders.items():
        by_count = [lr.loss(lr.pruned(params, order, n), test, the) for n in range(m + 1)]
        want = [by_count[lr.rounded_up_half(rate, m)] for rate in coords["rate"]]
        agree(got["pruned_loss"][:, coords["order"].index(name)], want, 1e-10)
