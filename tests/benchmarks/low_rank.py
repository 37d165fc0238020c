"""The one-layer Transformer on patterns: a sweep over eta and seeds against NumPy and plain JAX;
pruning curves and truncations of trained parameters against one evaluation each.
"""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study
from benchmarks.table import Group, Line
from benchmarks.timing import Side

import jaxtheory
from jaxtheory.ops import draws
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import pruning
from jaxtheory.theories.low_rank.analyses.ranks import truncation

THEORY = jaxtheory.theories.get("low_rank")
BARE = THEORY._replace(analyses=lambda params, problem, config: {})
STUDY = Study(BARE, THEORY.Config(), "learning_rate", (0.1, 0.3, 0.5, 1.0), 8, 50)


def initialize(problem, config):
    """The start (W_Q, W_K, W_V, W_O) and a = signs / sqrt(m) of one head, layer and output."""
    start = model.initial(problem, config)
    W = [start.query[0, 0], start.key[0, 0], start.value[0, 0], start.output]
    return W, problem.signs[0, :, 0] / config.num_neurons.n**0.5


def chosen(t, problem, config):
    """The samples of step t, as the sweep of seed 0 draws them."""
    key = jax.random.fold_in(jax.random.fold_in(draws.run_key(0, 0), draws.STEPS), t)
    key = jax.random.fold_in(key, 0)
    return draws.distinct(key, config.num_samples, config.batch_size.n)


def by_numpy(problem, config, steps, places=None):
    """The four matrices after SGD, batches without replacement (`places` [steps, B], or drawn),
    float64.
    """
    W, a = initialize(problem, config)
    Q, K, V, O = (np.asarray(w, float) for w in W)
    a, B, rng = np.asarray(a, float), config.batch_size.n, np.random.default_rng(0)
    data, label = np.asarray(problem.train.tokens, float), np.asarray(problem.train.label)
    for t in range(steps):
        at = rng.choice(len(data), B, replace=False) if places is None else places[t]
        X, y = data[at], 1.0 - 2 * label[at]
        L = X.shape[1]
        q, k = X @ Q.T, X @ K.T
        z = q @ k.transpose(0, 2, 1)
        p = np.exp(z - z.max(axis=2, keepdims=True))
        p /= p.sum(axis=2, keepdims=True)
        C = p @ X
        v = C @ V.T
        h = v @ O.T
        F = (np.maximum(h, 0) @ a).mean(axis=1)
        g = -y * (y * F < 1) / B
        G = g[:, None, None] * a * (h > 0) / L
        D = G @ O
        dC = D @ V
        s = dC @ X.transpose(0, 2, 1)
        e = p * (s - (p * s).sum(axis=2, keepdims=True))
        flat = lambda u, w: u.reshape(-1, u.shape[2]).T @ w.reshape(-1, w.shape[2])
        dQ, dK = flat(e @ k, X), flat(e.transpose(0, 2, 1) @ q, X)
        dV, dO = flat(D, C), flat(G, v)
        eta = config.learning_rate
        Q, K, V, O = Q - eta * dQ, K - eta * dK, V - eta * dV, O - eta * dO
    return Q, K, V, O


def loss(params, X, y, a):
    Q, K, V, O = params
    p = jax.nn.softmax((X @ Q.T) @ (X @ K.T).mT, axis=-1)
    F = jnp.mean(jax.nn.relu(p @ X @ V.T @ O.T) @ a, axis=1)
    return jnp.mean(jax.nn.relu(1 - y * F))


@jax.jit
def loop(params, a, tokens, label, eta, places):
    def step(params, at):
        slope = jax.grad(loss)(params, tokens[at], 1.0 - 2 * label[at], a)
        return jax.tree.map(lambda p, g: p - eta * g, params, slope), None

    return jax.lax.scan(step, params, places)[0]


@jax.jit
def shuffled(key, steps_and_samples):
    draw = lambda key: jax.random.permutation(key, steps_and_samples.shape[1])
    return jax.vmap(draw)(jax.random.split(key, steps_and_samples.shape[0]))


def by_jax(problem, config, steps, places=None):
    """The four matrices by autodiff, all steps in one jitted scan."""
    start, a = initialize(problem, config)
    if places is None:
        shape = jnp.zeros((steps, config.num_samples.n), bool)
        places = shuffled(jax.random.key(0), shape)[:, : config.batch_size.n]
    return loop(start, a, problem.train.tokens, problem.train.label, config.learning_rate, places)


def work(study):
    """Per run, step and sample: forward and backward products of 2 operations, an exponential per
    pair of tokens; the samples read and the matrices read and written once.
    """
    config = study.config
    L = model.length(config).n
    names = ("dimension", "query_dim", "value_dim", "num_neurons", "batch_size")
    d, b, a, m, B = (getattr(config, name).n for name in names)
    times = study.runs * study.steps
    forward = 2 * L * (2 * b * d + L * b + L * d + a * d + m * a)
    moved = 4 * (B * L * d + 2 * (2 * b * d + a * d + m * a))
    return Work(times * B * 3 * forward, times * moved, moved, exps=times * B * L * L)


def groups():
    rivals = {"NumPy": (by_numpy, None)}
    peers = {"vmapped JAX": (by_jax, 1.6)}
    yield against(STUDY, "setting S1, no analyses", rivals, work(STUDY), peers)
    yield curves()
    yield overhead(STUDY)
    yield ranks()


# Trained parameters


def trained(config, steps):
    """Parameters after some steps, and their problem."""
    run = jaxtheory.simulate(BARE, config, jaxtheory.run_key(0, 0), steps=steps, record=[steps])
    return jax.tree.map(jnp.asarray, (run.params, run.problem))


def at_rates(params, problem, config):
    """Our curves: all rates and orders at once."""
    return jax.jit(lambda p, problem: pruning.curves(p, problem, config))(params, problem)


def one_by_one(params, problem, config):
    """A function that gives the test loss at (rate, order): one evaluation each, the places of the
    neurons in every order being known.
    """
    score = pruning.scores(params, problem, config, pruning.saliency(params, problem, config))
    place = jnp.argsort(pruning.order(score, config.num_neurons.mask()), axis=1)
    counts = np.asarray(pruning.removed(config))

    @jax.jit
    def evaluate(params, problem, place, count):
        output = jnp.where((place < count)[:, None], 0, params.output)
        return model.loss(params._replace(output=output), problem.test, problem, config)

    return lambda rate, order: evaluate(params, problem, place[order], counts[rate])


def curves(config=STUDY.config, steps=120):
    """201 rates and five orders in one pass."""
    params, problem = trained(config, steps)
    one_pass = jax.jit(lambda p, problem: pruning.curves(p, problem, config))
    evaluate = one_by_one(params, problem, config)
    rates, orders = len(pruning.RATES), len(pruning.ORDERS)
    evaluate_all = lambda: jax.block_until_ready(
        [evaluate(rate, order) for order in range(orders) for rate in range(rates)]
    )
    part = lambda: jax.block_until_ready([evaluate(rate, 0) for rate in range(0, rates, 10)])
    sides = {
        "curves": Side(lambda: jax.block_until_ready(one_pass(params, problem))),
        "evaluations": Side(evaluate_all, part, orders * rates / len(range(0, rates, 10))),
    }
    line = Line(
        "pruning curves over one evaluation per rate", "curves", "evaluations", "faster", 100
    )
    n, L, m = config.num_test.n, model.length(config).n, config.num_neurons.n
    a, d = config.value_dim.n, config.dimension.n
    train = config.num_samples.n
    flops = (n + train) * 2 * L * (2 * d * d + 2 * L * d + a * d + m * a) + 3 * orders * n * m
    size = 4 * (n + train) * L * d
    work = Work(flops, size, size, exps=(n + train) * L * L)
    setting = f"{rates} rates x {orders} orders, {n} test samples"
    return Group(THEORY.name, setting, sides, [line], {"curves": work})


def ranks(config=STUDY.config, steps=120):
    """Truncation to every rank from one decomposition."""
    params, problem = trained(config, steps)
    one_pass = jax.jit(lambda p, problem: truncation(p, problem, config))
    start, delta = model.initial(problem, config), model.change(params, problem, config)

    @jax.jit
    def one(rank):
        def cut(w, d):
            u, s, vt = jnp.linalg.svd(d, full_matrices=False)
            return w + (u * jnp.where(jnp.arange(s.shape[-1]) < rank, s, 0)[..., None, :]) @ vt

        return model.loss(model.Params(*map(cut, start, delta)), problem.test, problem, config)

    sides = {
        "together": Side(lambda: jax.block_until_ready(one_pass(params, problem))),
        "each": Side(lambda: jax.block_until_ready([one(rank) for rank in range(1, 21)])),
    }
    line = Line("20 ranks over one decomposition each", "together", "each", "faster")
    return Group(THEORY.name, "20 ranks, 5 more losses beside", sides, [line], {}, more=True)
