"""Checks of the data, the layer, its gradient and the algorithms; and the small configs that all checks run on."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check
from jaxtheory.theories.low_rank import calculus, laws, literal, model, predictions, task, training
from jaxtheory.theories.low_rank.analysis_checks import ANALYSIS_CHECKS, Compared, setting
from jaxtheory.theories.low_rank.model import Config, Params

PAPER = "arXiv 2406.17167"
BATCHES = 300


# The data


def samples_as_counted(key: Array, config: Config) -> Compared:
    """Exact counts: nrel tokens of the label's class, nconf of one other, per of each irrelevant pattern; random: the label's are most.

    One pattern of the label's class is shown, or all of them.
    """
    train = task.problem(key, config).train
    M, R, C = config.num_patterns.cap, config.num_relevant_patterns.cap, config.num_classes.cap
    found = jnp.sum(jax.nn.one_hot(train.pattern, M), axis=1)  # (N, M)
    pick = lambda table: jnp.take_along_axis(table, train.label[:, None], axis=1)[:, 0]
    each = jnp.stack([jnp.sum(found[:, c:R:C], axis=1) for c in range(C)], axis=1)
    shown = jnp.stack([jnp.sum(found[:, c:R:C] > 0, axis=1) for c in range(C)], axis=1)
    members = jnp.asarray([len(range(c, R, C)) for c in range(C)])[train.label]
    own, rest = pick(each), found[:, R:]
    voting = jnp.full(len(own), float(config.num_relevant.cap + config.num_confusion.cap))
    exact = config.counts == "exact"
    want_own = jnp.full(len(own), float(config.num_relevant.cap)) if exact else jnp.max(each, axis=1)
    want_rest = jnp.full(rest.shape, float(config.num_irrelevant_each.cap)) if exact else rest
    want_shown = jnp.minimum(members, config.num_relevant.cap) if config.occurrence == "together" else jnp.ones_like(members)
    return (own, jnp.sum(each, axis=1), rest, pick(shown).astype(float)), (want_own, voting, want_rest, want_shown.astype(float))


def labels_in_turn(key: Array, config: Config) -> Compared:
    if config.labels != "balanced" or config.counts != "exact":
        return None
    made = task.problem(key, config)
    several = [jnp.bincount(part.label, length=config.num_classes.cap) for part in (made.train, made.test)]
    gap = jnp.stack([jnp.max(n) - jnp.min(n) for n in several]).astype(float)
    return gap, jnp.ones(2)


def noise_has_its_law(key: Array, config: Config) -> Compared:
    """Norms: 1, or that of the noise; Gaussian noise: mean 0, second moments sigma^2 1."""
    made = task.problem(key, config)
    noise = (made.train.tokens - made.patterns[made.train.pattern]).reshape(-1, config.dimension.cap)
    if config.noise_law == "gaussian":
        products = noise[:, :, None] * noise[:, None, :]
        got = jnp.mean(noise, axis=0), jnp.mean(products, axis=0)
        root = len(noise) ** 0.5
        want = jnp.zeros_like(got[0]), config.noise**2 * jnp.eye(config.dimension.cap)
        return got, want, (jnp.std(noise, axis=0) / root, jnp.std(products, axis=0) / root)
    if config.noise_law == "unit":
        size = jnp.sum(made.train.tokens**2, axis=2)
        return size, jnp.ones_like(size), jnp.zeros_like(size)
    size = jnp.sqrt(jnp.sum(noise**2, axis=1))
    return size, jnp.full_like(size, config.noise), jnp.zeros_like(size)


def patterns_gram(_key: Array, config: Config) -> Compared:
    U = task.patterns(config)
    return U @ U.T, jnp.eye(len(U)).at[0, 1].set(config.coherence).at[1, 0].set(config.coherence)


def rotation_orthonormal(key: Array, config: Config) -> Compared:
    """Q Q^T = 1; the first row is the direction of the first Gaussian row's (a unit vector), entries of mean square 1/d."""
    if config.num_heads == 1:
        return None
    Q = task.rotation(key, config)
    return (Q @ Q.T, Q.T @ Q), (jnp.eye(len(Q)),) * 2


def batches_distinct(key: Array, config: Config) -> Compared:
    """Every training sample is in a batch with probability B / N, and at most once."""
    made = task.problem(key, config)
    N, B = config.num_samples.cap, config.batch_size.cap
    made = made._replace(train=made.train._replace(label=jnp.arange(N, dtype=jnp.int32)))  # labels tell the samples apart
    batches = jax.vmap(lambda k: task.sample(k, made, config))(jax.random.split(key, BATCHES))
    seen = jnp.sum(jax.nn.one_hot(batches.label, N), axis=1)
    share = B / N
    tokens = made.train.tokens[batches.label[0]]
    return (
        (jnp.mean(seen, axis=0), jnp.max(seen), batches.tokens[0], jnp.sum(batches.weight[0])),
        (jnp.full(N, share), jnp.ones(()), tokens, jnp.ones(())),
        (jnp.full(N, (share * (1 - share) / BATCHES) ** 0.5 + 1e-12), jnp.zeros(()), jnp.zeros_like(tokens), jnp.full((), 1e-14)),
    )


def signs_fair(key: Array, config: Config) -> Compared:
    """Signs have square 1 and mean 0 over many draws, those of two neurons, positions or outputs product 0."""
    signs, normal, _, _ = jax.vmap(lambda k: task.start(k, config))(jax.random.split(key, BATCHES))
    several = signs.reshape(BATCHES, -1)[:, :6]
    zero, root = jnp.zeros(several.shape[1]), BATCHES**0.5
    products = several * jnp.roll(several, 1, axis=1)
    entries = normal.reshape(BATCHES, -1)[:, :6]
    return (
        (several**2, jnp.mean(several, axis=0), jnp.mean(products, axis=0), jnp.mean(entries, axis=0), jnp.mean(entries**2, axis=0)),
        (jnp.ones_like(several), zero, zero, zero, 1 + zero),
        (
            jnp.zeros_like(several),
            zero + 1 / root,
            zero + 1 / root,
            jnp.full(entries.shape[1], 1 / root),
            jnp.std(entries**2, axis=0) / root,
        ),
    )


# The layer


def start_diagonal(key: Array, config: Config) -> Compared:
    """One head: delta I. Several: W_Q^h rows delta times orthonormal ones, sum_h W_V^h = rv delta I. W_O = xi times the normals."""
    made = task.problem(key, config)
    W, delta = model.initial(made, config), config.init_diagonal
    n, d, m_b, m_a = config.num_layers, config.dimension.cap, config.query_dim.cap, config.value_dim.cap
    rows = W.query.reshape(n, m_b, d)
    value = jnp.broadcast_to(config.value_ratio * delta * jnp.eye(m_a, d)[None], (n, m_a, d))
    kept = jnp.broadcast_to((delta**2 * jnp.diag((jnp.arange(m_b) < d).astype(float)))[None], (n, m_b, m_b))
    one = jnp.broadcast_to((delta * jnp.eye(m_b, d))[None], (n, m_b, d)) if config.num_heads == 1 else rows
    return (rows @ rows.mT, jnp.sum(W.value, axis=1), rows, W.key, W.output), (kept, value, one, W.query, config.output_scale * made.normal)


def forward_literal(key: Array, config: Config) -> Compared:
    params, batch, made = setting(key, config)
    seen = model.forward(params, batch.tokens, made, config)
    v, attention = jax.vmap(lambda X: literal.attention(params, X, config))(batch.tokens)
    return (seen.F, seen.values, seen.attention[-1]), (literal.outputs(params, batch, made, config), v.mT, attention)


def loss_literal(key: Array, config: Config) -> Compared:
    params, batch, made = setting(key, config)
    return model.loss(params, batch, made, config), literal.loss(params, batch, made, config)


def gradient_literal(key: Array, config: Config) -> Compared:
    params, batch, made = setting(key, config)
    return calculus.gradient(params, batch, made, config), jax.grad(literal.loss)(params, batch, made, config)


def gradient_balanced(key: Array, config: Config) -> Compared:
    """W_O^T g_O = sum_h g_V W_V^T of the last layer, W_K g_K^T = g_Q W_Q^T of each head: products, then traces (Euler's identities)."""
    params, batch, made = setting(key, config)
    g = calculus.gradient(params, batch, made, config)
    seen = model.forward(params, batch.tokens, made, config)
    right = params.output.T @ g.output
    left = jnp.einsum("had,hbd->ab", g.value[-1], params.value[-1])
    flow = jnp.sum(calculus.slope(seen.F, batch, config) * seen.F)  # F is homogeneous of degree 1 in W_O
    return (
        (right, params.key @ g.key.mT, jnp.vdot(params.output, g.output)),
        (left, g.query @ params.query.mT, flow),
    )


def keys_without_noise(key: Array, config: Config) -> Compared:
    """Without noise dW_K v = 0 where every pattern has mu_j^T v = 1, as the gradient in the scores sums to zero over the keys."""
    params, batch, made = setting(key, config)
    if config.num_layers > 1:
        return None
    clean = batch._replace(tokens=made.patterns[batch.pattern])
    null = laws.noiseless_null(made, config)
    g = calculus.gradient(params, clean, made, config).key
    return (made.patterns @ null, jnp.max(jnp.abs(g @ null)) + 1), (jnp.ones(len(made.patterns)), jnp.ones(()))


# The algorithms


def step_descends(key: Array, config: Config) -> Compared:
    params, batch, made = setting(key, config)
    new = training.step(key, jnp.int32(0), params, batch, made, config)
    slope = jax.grad(literal.loss)(params, batch, made, config)
    return new, jax.tree.map(lambda w, g: w - config.learning_rate * g, params, slope)


def lora_start(key: Array, config: Config) -> Compared:
    """LoRA begins at W(0); its A has columns of mean square r / columns."""
    made = task.problem(key, config)
    state = training.init_lora(key, made, config)
    several = jax.vmap(lambda k: training.init_lora(k, made, config).down)(jax.random.split(key, BATCHES))
    found = Params(*(x.reshape(BATCHES, -1)[:, :9] ** 2 * x.shape[-1] for x in several))
    zero = jax.tree.map(jnp.zeros_like, model.initial(made, config))
    return (
        (training.merged(state, made, config), jax.tree.map(lambda x: jnp.mean(x, axis=0), found)),
        (model.initial(made, config), jax.tree.map(lambda x: jnp.ones(x.shape[1]), found)),
        (zero, jax.tree.map(lambda x: jnp.std(x, axis=0) / BATCHES**0.5, found)),
    )


def lora_descends(key: Array, config: Config) -> Compared:
    """One step of LoRA, from factors away from zero, is descent on the loss token by token in the factors."""
    _, batch, made = setting(key, config)
    state = training.init_lora(key, made, config)
    up = jax.tree.map(lambda b: 0.5 * jax.random.normal(key, b.shape), state.up)
    state = state._replace(up=up)
    start = model.initial(made, config)

    def objective(factors: training.Factors) -> Array:
        whole = Params(*(W + jnp.einsum("...ir,...rj->...ij", B, A) for W, B, A in zip(start, factors.up, factors.down, strict=True)))
        return literal.loss(whole, batch, made, config)

    slope = jax.grad(objective)(state)
    want = jax.tree.map(lambda w, g: w - config.learning_rate * g, state, slope)
    new = training.lora_step(key, jnp.int32(0), state, batch, made, config)
    return (new, training.factor_gradient(state, batch, made, config)), (want, slope)


def drift_second_order(key: Array, config: Config) -> Compared:
    """After one step from a balanced start the laws of gradient flow fail by eta^2 (g g^T - g' g'^T) exactly."""
    _, batch, made = setting(key, config)
    start, eta = model.initial(made, config), config.learning_rate
    g = calculus.gradient(start, batch, made, config)
    new = training.step(key, jnp.int32(0), start, batch, made, config)
    size = lambda x: jnp.sqrt(jnp.sum(x**2))
    moved = lambda f: size(f(new) - f(start))
    V = lambda p: jnp.einsum("had,hbd->ab", p.value[-1], p.value[-1])
    O = lambda p: p.output.T @ p.output
    left = size(g.query @ g.query.mT - g.key @ g.key.mT), size(V(g) - O(g))
    whole = moved(lambda p: p.query @ p.query.mT) + moved(lambda p: p.key @ p.key.mT), moved(V) + moved(O)
    want = jnp.stack([eta**2 * a / jnp.where(b > 0, b, 1) for a, b in zip(left, whole, strict=True)])
    return predictions.balance_drift(new, made, config), want


CHECKS = (
    Check("one_sample: tokens as counted, label by majority", f"{PAPER}, III-A", "equal", samples_as_counted),
    Check("datasets: balanced labels", f"{PAPER}, III-A", "bound", labels_in_turn),
    Check("tokens_of: law of the noise", f"{PAPER}, equation (6) and IV", "sample", noise_has_its_law),
    Check("patterns: Gram matrix", f"{PAPER}, III-A", "equal", patterns_gram),
    Check("rotation: orthonormal", "ours", "equal", rotation_orthonormal),
    Check("sample: distinct and uniform", f"{PAPER}, equation (5)", "sample", batches_distinct),
    Check("start: signs and normals", f"{PAPER}, II", "sample", signs_fair),
    Check("initial: diagonal start", f"{PAPER}, II", "equal", start_diagonal),
    Check("forward: token by token", f"{PAPER}, equation (1)", "equal", forward_literal),
    Check("loss: token by token", f"{PAPER}, equation (3)", "equal", loss_literal),
    Check("gradient: autodiff of the loss token by token", "derived", "equal", gradient_literal),
    Check("gradient: conservation laws and Euler's identity", "derived", "equal", gradient_balanced),
    Check("noiseless_null: the gradient of W_K vanishes on it", "derived", "equal", keys_without_noise),
    Check("step: descent on the loss token by token", f"{PAPER}, equation (5)", "equal", step_descends),
    Check("init_lora: starts at W(0)", "LoRA, arXiv 2106.09685", "sample", lora_start),
    Check("lora_step: descent in the factors", "LoRA, arXiv 2106.09685", "equal", lora_descends),
    Check("balance_drift: second order in the step", "derived", "equal", drift_second_order),
    *ANALYSIS_CHECKS,
)

_SMALL: dict[str, Any] = {"num_neurons": 6, "batch_size": 4, "num_samples": 12, "num_test": 8, "init_diagonal": 0.4, "output_scale": 0.7}
EXAMPLES = (
    Config(num_patterns=5, dimension=5, query_dim=4, value_dim=5, num_relevant=3, num_confusion=1, **_SMALL),
    Config(
        num_patterns=4, dimension=5, query_dim=5, value_dim=4, num_relevant=3, num_confusion=2, num_irrelevant_each=1,
        output="per_token", num_queries=3, noise_law="bounded", coherence=0.5, **_SMALL,
    ),
    Config(
        num_patterns=5, num_relevant_patterns=4, num_classes=3, dimension=6, query_dim=4, value_dim=6, num_relevant=3, num_confusion=2,
        num_irrelevant_each=2, task="multiclass", num_heads=2, counts="random", labels="random", output="per_token", **_SMALL,
    ),
    Config(
        num_patterns=5, num_relevant_patterns=4, dimension=5, query_dim=4, value_dim=5, num_relevant=4, num_confusion=2,
        occurrence="together", noise_law="unit", num_layers=2, num_heads=2, lora_rank=1, **_SMALL,
    ),
    Config(num_patterns=3, num_relevant_patterns=3, num_classes=3, dimension=3, query_dim=2, value_dim=2, num_relevant=2, num_confusion=0,
           num_irrelevant_each=0, task="multiclass", noise=0.0, truncation_rank=1, value_ratio=2.0, **_SMALL),
)  # fmt: skip
