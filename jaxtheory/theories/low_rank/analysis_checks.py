"""Checks of the analyses and of the laws."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core import linalg
from jaxtheory.core.theory import Check
from jaxtheory.theories.low_rank import analyses, calculus, laws, literal, model, predictions, pruning, task
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

Compared = tuple[Any, ...] | None  # (got, want) or (got, want, standard error); None where a check does not apply
MANY = 4000


def setting(key: Array, config: Config) -> tuple[Params, Batch, Problem]:
    """Parameters away from their start, a batch and a problem, made up from one uniform draw, which compiles fast. Sizes unpadded."""
    M, C, d, m, m_a, N, T, B = (
        getattr(config, name).cap
        for name in ("num_patterns", "num_classes", "dimension", "num_neurons", "value_dim", "num_samples", "num_test", "batch_size")
    )
    L, q, H, layers = model.length(config).cap, model.head_dim(config).cap, config.num_heads, config.num_layers
    signs = (C if config.task == "multiclass" else 1, m, L if config.output == "per_token" else 1)
    shapes = [(N + T, L, d), (N + T,), (N + T, L), signs, (m, m_a), (m,), (d,)]
    shapes += [(layers, H, q, d), (layers, H, q, d), (layers, H, m_a, d), (m, m_a)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = [part.reshape(s) for part, s in zip(jnp.split(jax.random.uniform(key, (ends[-1],)), ends[:-1]), shapes, strict=True)]
    tokens, label, pattern, sign, normal, shuffle, v = parts[:7]
    U = task.patterns(config)
    label, pattern = (label * C).astype(jnp.int32), (pattern * M).astype(jnp.int32)
    tokens = U[pattern] + tokens - 0.5
    sets = [Batch(tokens[at], label[at], pattern[at], jnp.full(n, 1 / n)) for n, at in ((N, slice(N)), (T, slice(N, None)), (B, slice(B)))]
    basis = jnp.eye(d) - 2 * v[:, None] * v[None, :] / jnp.sum(v**2) if H > 1 else jnp.eye(d)  # a reflection
    made = Problem(sets[0], sets[1], U, jnp.where(sign < 0.5, -1.0, 1.0), 2 * normal - 1, basis, shuffle)
    params = Params(*(w + 1.4 * (u - 0.5) for w, u in zip(model.initial(made, config), parts[7:], strict=True)))
    return params, sets[2], made


def without(params: Params, kept: Array) -> Params:
    """The neurons that are kept, the others zero."""
    return params._replace(output=params.output * kept[:, None])


def places(keys: Array) -> Array:
    """How many go before each neuron: those of smaller key, or of equal key and earlier."""
    i = jnp.arange(keys.shape[-1])
    earlier = (i[None, :] < i[:, None]).reshape((1,) * (keys.ndim - 1) + (i.size, i.size))
    before = (keys[..., None, :] < keys[..., :, None]) | ((keys[..., None, :] == keys[..., :, None]) & earlier)
    return jnp.sum(before, axis=-1)


# Neurons


def contributions_literal(key: Array, config: Config) -> Compared:
    params, batch, made = setting(key, config)
    hidden = model.forward(params, batch.tokens, made, config).hidden
    f = pruning.contributions(hidden, made, config)
    each = jax.vmap(lambda X: literal.neurons(params, X, made, config))(batch.tokens)
    train = jax.vmap(lambda X: literal.neurons(params, X, made, config))(made.train.tokens)
    return (f, pruning.saliency(params, made, config)), (each.mT, jnp.mean(jnp.sum(jnp.abs(train), axis=1), axis=0))


def curves_literal(key: Array, config: Config) -> Compared:
    """Every rate and order against the loss token by token with that many rows of W_O set to zero."""
    params, _, made = setting(key, config)
    m = config.num_neurons.cap
    train = jax.vmap(lambda X: literal.neurons(params, X, made, config))(made.train.tokens)
    size = jnp.linalg.norm(params.output, axis=1)
    moved = jnp.linalg.norm(params.output - config.output_scale * made.normal, axis=1)
    keys = jnp.stack([size, -size, made.shuffle, moved, jnp.mean(jnp.sum(jnp.abs(train), axis=1), axis=0)])
    count = np.array([(2 * j * m + 200) // 400 for j in range(201)])
    kept = (places(keys)[None] >= jnp.arange(m + 1)[:, None, None]).astype(float)  # (count, order, m)
    of = jax.vmap(jax.vmap(lambda k: literal.loss(without(params, k), made.test, made, config)))(kept)
    return pruning.curves(params, made, config), of[count]


def removed_rounds(_key: Array, config: Config) -> Compared:
    m = config.num_neurons.cap
    return pruning.removed(config).astype(float), jnp.asarray([float((2 * j * m + 200) // 400) for j in range(201)])


def small_sets(key: Array, config: Config) -> Compared:
    """Made-up norms: m rows, those below a gap are found; and the share below .33 of the 95 % quantile."""
    m = config.num_neurons.cap
    k = m // 3
    noise = 1 + 0.01 * jax.random.uniform(key, (m,))
    norms = jax.random.permutation(key, jnp.where(jnp.arange(m) < k, 0.1, 1.0) * noise)
    order = jnp.sort(norms)
    share, ratio = predictions.small_set(norms, config)
    got = share, ratio, predictions.small_changes(norms, config)
    return got, (jnp.asarray(k / m), order[k] / order[k - 1], jnp.asarray(k / m))


def neurons_described(key: Array, config: Config) -> Compared:
    """o_i^T mu_j, o_i^T W_V m_c and the class of a neuron, one by one."""
    params, _, made = setting(key, config)
    U, d, m_a = made.patterns, config.dimension.cap, config.value_dim.cap
    left = jnp.stack([jnp.eye(m_a, d) @ mu for mu in U])
    want = jnp.stack([jnp.stack([jnp.dot(o, mu) for mu in left]) for o in params.output])
    means = analyses.class_means(made, config)
    active = jnp.stack([params.output @ sum(W @ m for W in params.value[-1]) for m in means])
    total = jnp.sum(made.signs, axis=2)
    own = jnp.where(total[0] > 0, 0, 1) if config.task == "binary" else jnp.argmax(total, axis=0)
    alive = jnp.sum(active > 0, axis=0)
    got = (
        analyses.neuron_projections(params, made, config),
        analyses.activity(params, made, config),
        analyses.own_class(made, config).astype(float),
        predictions.dead(params, made, config).astype(float),
    )
    return got, (want, active, own.astype(float), (alive == 0).astype(float))


def means_of_classes(key: Array, config: Config) -> Compared:
    """m_c against the mean token of many samples without noise."""
    if config.counts != "exact" or config.noise_law != "gaussian":
        return None
    many = config.replace(num_samples=model.Size(600), noise=0.0 * config.noise, labels="balanced")
    train = task.problem(key, many).train
    mean = jnp.mean(train.tokens, axis=1)
    C = config.num_classes.cap
    hot = jax.nn.one_hot(train.label, C)
    each = jnp.sum(hot, axis=0)[:, None]
    found = hot.T @ mean / each
    spread = jnp.sqrt(jnp.maximum(hot.T @ mean**2 / each - found**2, 0) / each)
    return analyses.class_means(task.problem(key, many), many), found, spread + 1e-13


# Matrices


def singular_gram(key: Array, config: Config) -> Compared:
    """Squares against the eigenvalues of the Gram matrix of each head."""
    params, _, _ = setting(key, config)
    want = []
    for W in analyses.matrices(params):
        gram = W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W
        values = jnp.linalg.eigvalsh(gram)[::-1]
        want.append(jnp.zeros(analyses.full_rank(config)).at[: len(values)].set(values))
    return analyses.singular_values(params, config) ** 2, jnp.stack(want)


def gap_found(key: Array, _config: Config) -> Compared:
    """Made-up spectra with one large drop after the r-th value, r = 1..4; a zero matrix has rank 0; with 3 rows s_3 is the last."""
    u = 1 + 0.1 * jnp.sort(jax.random.uniform(key, (5,)))[::-1]
    s = jnp.stack([jnp.where(jnp.arange(5) < r, u, 1e-3 * u) for r in range(1, 5)] + [jnp.zeros(5), jnp.asarray([4.0, 2.0, 1.5, 0, 0])])
    limit = jnp.asarray([5, 5, 5, 5, 5, 3], jnp.int32)
    return analyses.gap_rank(s, limit).astype(float), jnp.asarray([1.0, 2.0, 3.0, 4.0, 0.0, 1.0])


def truncation_literal(key: Array, config: Config) -> Compared:
    """One decomposition per rank and matrix, losses token by token."""
    params, _, made = setting(key, config)
    start = model.initial(made, config)
    delta = jax.tree.map(jnp.subtract, params, start)
    n = analyses.full_rank(config)

    def cut(ranks: tuple) -> Params:
        return Params(*(_truncated(W, D, r) for W, D, r in zip(start, delta, ranks, strict=True)))

    def mass(p: Params) -> Array:
        _, attention = jax.vmap(lambda X: literal.attention(p, X, config))(made.test.tokens)
        return jnp.stack(_attention_mass(attention, made.test, config))

    several = jax.tree.map(lambda *x: jnp.stack(x), *[cut((r,) * 4) for r in range(1, n + 1)])
    alone = jax.tree.map(lambda *x: jnp.stack(x), *[cut(tuple(1 if i == j else n for j in range(4))) for i in range(4)])
    of = jax.vmap(lambda p: literal.loss(p, made.test, made, config))
    found = analyses.truncation(params, made, config)
    half = cut((config.truncation_rank,) * 4)
    m = config.num_neurons.cap
    size = jnp.linalg.norm(half.output, axis=1)
    kept = (places(size)[None] >= jnp.arange(m + 1)[:, None]).astype(float)
    pruned = jax.vmap(lambda k: literal.loss(without(half, k), made.test, made, config))(kept)
    masses = jax.vmap(mass)(several)
    names = ("truncated_loss", "truncated_error", "truncated_attention", "truncated_query_attention", "alone_truncated_loss")
    return (*(found[name] for name in names), found["pruned_truncated_loss"][:: 200 // 2]), (
        of(several),
        jax.vmap(lambda p: _error(p, made, config))(several),
        masses[:, 0],
        masses[:, 1],
        of(alone),
        pruned[np.array([0, (2 * 100 * m + 200) // 400, m])],
    )


def _truncated(W: Array, delta: Array, rank: Any) -> Array:
    if delta.ndim == 2:
        return W + linalg.truncate(delta, rank)
    return W + jnp.stack([jnp.stack([linalg.truncate(h, rank) for h in layer]) for layer in delta])


def _error(params: Params, made: Problem, config: Config) -> Array:
    """The share of test samples whose class has not the largest output alone."""
    F, label = literal.outputs(params, made.test, made, config), made.test.label
    if config.task == "binary":
        return jnp.mean((F[:, 0] * jnp.where(label == 0, 1, -1).astype(float) <= 0).astype(float))
    above = jnp.stack([jnp.sum(F[n] >= F[n, label[n]]) for n in range(len(F))])  # itself included
    return jnp.mean((above > 1).astype(float))


def _attention_mass(attention: Array, batch: Batch, config: Config) -> tuple[Array, Array]:
    """Sums query by query: mean over all queries, over relevant queries."""
    own = (batch.pattern < config.num_relevant_patterns.cap) & (batch.pattern % config.num_classes.cap == batch.label[:, None])
    every, mine = [], []
    for n in range(len(batch.label)):
        per_query = sum(attention[n, h] @ own[n].astype(float) for h in range(config.num_heads)) / config.num_heads
        every.append(jnp.mean(per_query))
        mine.append(jnp.sum(jnp.where(own[n], per_query, 0)) / jnp.maximum(jnp.sum(own[n].astype(float)), 1))
    return jnp.mean(jnp.stack(every)), jnp.mean(jnp.stack(mine))


def mass_literal(key: Array, config: Config) -> Compared:
    params, _, made = setting(key, config)
    _, attention = jax.vmap(lambda X: literal.attention(params, X, config))(made.test.tokens)
    seen = model.forward(params, made.test.tokens, made, config)
    return analyses.attention_mass(seen.attention[-1], made.test, config), _attention_mass(attention, made.test, config)


def projections_literal(key: Array, config: Config) -> Compared:
    """mu_i^T Delta W mu_j entry by entry; for heads the left mu_i passes their rows of the basis."""
    params, _, made = setting(key, config)
    delta = model.change(params, made, config)
    U, d, m_b, m_a = made.patterns, config.dimension.cap, config.query_dim.cap, config.value_dim.cap
    basis = made.basis[:m_b] if m_b <= d else jnp.concatenate([made.basis, jnp.zeros((m_b - d, d))])
    left = [U @ basis.T, U @ basis.T, U @ jnp.eye(m_a, d).T]
    right = [delta.query[-1].reshape(m_b, d), delta.key[-1].reshape(m_b, d), sum(delta.value[-1])]
    entries = [[[jnp.dot(a, W @ mu) for mu in U] for a in rows] for rows, W in zip(left, right, strict=True)]
    return analyses.projections(params, made, config), jnp.asarray(entries)


def heads_and_values_removed(key: Array, config: Config) -> Compared:
    params, _, made = setting(key, config)
    of = lambda p: literal.loss(p, made.test, made, config)
    heads = jnp.argsort(jnp.sum(params.value**2, axis=(0, 2, 3)))
    losses = [of(params)]
    for n in range(1, config.num_heads + 1):
        losses.append(of(params._replace(value=params.value.at[:, heads[:n]].set(0))))
    m_a = config.value_dim.cap
    size = jnp.sum(params.output**2, axis=0) * jnp.sum(params.value[-1] ** 2, axis=(0, 2))
    columns = jnp.argsort(size)
    cut = [of(params._replace(output=params.output.at[:, columns[: (2 * j * m_a + 10) // 20]].set(0))) for j in range(11)]
    return (analyses.head_loss(params, made, config), analyses.value_loss(params, made, config)), (jnp.stack(losses), jnp.stack(cut))


# Laws


def share_in_samples(key: Array, config: Config) -> Compared:
    """alpha* against many samples, and as the attention of zero scores."""
    many = config.replace(num_samples=model.Size(MANY))
    train = task.problem(key, many).train
    share = jnp.mean(analyses.relevant(train, many).astype(float), axis=1)
    return jnp.mean(share), laws.relevant_share(config), jnp.std(share) / MANY**0.5 + 1e-13


def dead_gaussian(key: Array, config: Config) -> Compared:
    """Gaussian neurons that are inactive on both class means."""
    if config.task != "binary":
        return None
    made = task.problem(key, config)
    o = jax.random.normal(key, (10 * MANY, config.value_dim.cap))
    active = o @ laws.carried_means(made, config)[:2].T > 0
    dead = jnp.sum(active, axis=1) == 0
    p = laws.dead_fraction(made, config)
    return jnp.mean(dead.astype(float)), p, jnp.sqrt(p * (1 - p) / len(o))


def dead_from_counts(key: Array, config: Config) -> Compared:
    """cos theta = (2 nrel nconf + (M - 2) per^2) / (nrel^2 + nconf^2 + (M - 2) per^2) for orthonormal patterns of two classes, R = 2."""
    if config.task != "binary" or config.num_relevant_patterns.cap != 2 or config.value_dim.cap < config.dimension.cap:
        return None
    made = task.problem(key, config)
    a, b, per = (float(getattr(config, n).cap) for n in ("num_relevant", "num_confusion", "num_irrelevant_each"))
    rest = (config.num_patterns.cap - 2) * per**2
    c = config.coherence
    cosine = (2 * a * b + rest + c * (a**2 + b**2)) / (a**2 + b**2 + rest + 2 * c * a * b)
    return laws.dead_fraction(made, config), 0.5 - jnp.arccos(cosine) / (2 * jnp.pi)


def small_from_tokens(key: Array, config: Config) -> Compared:
    """The share of Gaussian neurons with o^T m < -1.05 sigma sqrt(d / L) |o| / sqrt(d), m from noiseless samples."""
    if config.counts != "exact" or config.occurrence != "independent" or config.num_relevant_patterns.cap != config.num_classes.cap:
        return None
    clean = config.replace(noise=0.0 * config.noise, noise_law="gaussian")
    train = task.problem(key, clean).train
    mean = jnp.mean(train.tokens, axis=1)[:, : config.value_dim.cap]
    size = jnp.linalg.norm(mean, axis=1)
    average = jnp.mean(jnp.stack([size[c] for c in range(config.num_classes.cap)]))  # labels in turn
    L = train.tokens.shape[1]
    width = 1.05 * config.noise * (config.dimension.cap / L) ** 0.5 / average
    return laws.small_fraction(task.problem(key, config), config), 0.5 * jax.scipy.special.erfc(width / 2**0.5)


def ranks_of_counts(key: Array, config: Config) -> Compared:
    """Independent relevant patterns: the rank of the numbers of relevant tokens over many samples; classes: labels that occur."""
    many = config.replace(num_samples=model.Size(200))
    if config.counts != "exact" and config.occurrence == "together":
        return None
    train = task.problem(key, many).train
    R, C = config.num_relevant_patterns.cap, config.num_classes.cap
    found = jnp.sum(jax.nn.one_hot(train.pattern, config.num_patterns.cap), axis=1)[:, :R]
    s = jnp.linalg.eigvalsh(found.T @ found)
    rank = jnp.sum(s > 1e-9 * s[-1]).astype(float)
    classes = jnp.sum(jnp.bincount(train.label, length=C) > 0).astype(float)
    each = config.num_heads * config.num_layers
    return laws.ranks(config), jnp.concatenate([jnp.full(2 * each, rank), jnp.full(each + 1, classes)])


def first_step_exact(key: Array, config: Config) -> Compared:
    """Exact in W_Q, W_V, W_O at W_Q = 0, and in W_K at W_K = 0, where attention is uniform."""
    if config.num_layers > 1:
        return None
    params, batch, made = setting(key, config)
    no_query, no_key = params._replace(query=0 * params.query), params._replace(key=0 * params.key)
    a, b = laws.first_step(no_query, batch, made, config), laws.first_step(no_key, batch, made, config)
    want_a, want_b = calculus.gradient(no_query, batch, made, config), calculus.gradient(no_key, batch, made, config)
    return (a.query, a.value, a.output, b.key), (want_a.query, want_a.value, want_a.output, want_b.key)


def first_step_rank(key: Array, config: Config) -> Compared:
    """Without noise, with one a for all positions and a mean token for each class, the first gradients have rank C."""
    alike = config.num_relevant_patterns.cap == config.num_classes.cap and (config.num_classes.cap == 2 or config.num_confusion.cap == 0)
    if config.num_layers > 1 or config.output != "shared" or not alike:
        return None
    params, _, _ = setting(key, config)
    made = task.problem(key, config)
    batch = made.train
    clean = batch._replace(tokens=made.patterns[batch.pattern])
    g = laws.first_step(params._replace(query=0 * params.query), clean, made, config)
    C = config.num_classes.cap
    s = [jnp.linalg.svd(W, compute_uv=False) for W in (g.query[0, 0], g.value[0, 0], g.output)]
    rest = [x[C] / jnp.maximum(x[0], 1e-30) if len(x) > C else jnp.zeros(()) for x in s]
    return jnp.stack(rest), jnp.full(3, 1e-11)


ANALYSIS_CHECKS = (
    Check("contributions: neuron by neuron", "derived", "equal", contributions_literal),
    Check("curves: one evaluation per rate", "arXiv 2406.17167, corollary 1", "equal", curves_literal),
    Check("removed: rounds halves up", "ours", "equal", removed_rounds),
    Check("small_set: made-up gaps", "arXiv 2406.17167, figure 3", "equal", small_sets),
    Check("activity: neuron by neuron", "arXiv 2406.17167, equations (11)-(13)", "equal", neurons_described),
    Check("class_means: mean tokens of samples", "derived", "sample", means_of_classes),
    Check("singular_values: eigenvalues of Gram matrices", "arXiv 2406.17167, figure 2", "equal", singular_gram),
    Check("gap_rank: made-up spectra", "ours", "equal", gap_found),
    Check("truncation: one decomposition per rank", "arXiv 2406.17167, figure 1", "equal", truncation_literal),
    Check("attention_mass: query by query", "arXiv 2406.17167, figure 1", "equal", mass_literal),
    Check("projections: entry by entry", "arXiv 2406.17167, equations (7)-(10)", "equal", projections_literal),
    Check("head_loss: heads and value dimensions set to zero", "ours", "equal", heads_and_values_removed),
    Check("relevant_share: frequencies", "arXiv 2406.17167, III-B", "sample", share_in_samples),
    Check("dead_fraction: Gaussian neurons", "derived", "sample", dead_gaussian),
    Check("dead_fraction: from token counts", "derived", "equal", dead_from_counts),
    Check("small_fraction: from noiseless tokens", "reconstructed", "equal", small_from_tokens),
    Check("ranks: of token counts", "derived", "equal", ranks_of_counts),
    Check("first_step: gradient at uniform attention", "derived", "equal", first_step_exact),
    Check("first_step: rank without noise", "derived", "bound", first_step_rank),
)
