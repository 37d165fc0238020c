"""Two layers of attention on Markov chains in context, in plain NumPy from arXiv 2402.14735.

A prompt has its own matrix pi with Dirichlet rows. Its tokens are a stationary chain, but for the
last one, the query, which is uniform. Layer 1 averages earlier tokens with the weights W, a softmax
of A1 over j <= i; layer 2 attends from the query with A2; the output f is the share of attention
that each state gets. The loss is -mean sum_k pi(k|s_T) log(f_k + eps).
"""

import itertools

import numpy as np

S, ALPHA, EPS = 3, 0.5, 0.01


def stationary(pi):
    """mu of each pi."""
    A = np.eye(pi.shape[-1]) - np.swapaxes(pi, -1, -2) + 1
    return np.linalg.solve(A, np.ones((*pi.shape[:-1], 1)))[..., 0]


def picked(rng, laws):
    """A state of each law."""
    below = np.cumsum(laws, axis=1)[:, :-1]
    return (rng.random(len(laws))[:, None] >= below).sum(axis=1)


def draw(rng, count, length, alpha=ALPHA, states=S):
    """pi and s of prompts."""
    pi = rng.dirichlet([alpha] * states, size=(count, states))
    s = [picked(rng, stationary(pi))]
    for _ in range(length - 2):
        s.append(picked(rng, pi[np.arange(count), s[-1]]))
    s.append(rng.integers(states, size=count))
    return pi, np.stack(s, axis=1)


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def first(A1):
    """W."""
    T = len(A1)
    return softmax(np.where(np.tril(np.ones((T, T), bool)), A1, -np.inf))


def back(a, slope):
    """The slope in the scores of a softmax."""
    return a * (slope - (a * slope).sum(axis=-1, keepdims=True))


def output(A1, A2, s):
    """W, A2 at each token and the query, the second attention, and f."""
    W, b = first(A1), A2[s, s[:, -1:]]
    a = softmax(b @ W.T)
    f = np.stack([(a * (s == k)).sum(axis=1) for k in range(len(A2))], axis=1)
    return W, b, a, f


def target(pi, s):
    return pi[np.arange(len(s)), s[:, -1]]


def loss_of(f, law):
    return -(law * np.log(f + EPS)).sum(axis=1).mean()


def slopes(A1, A2, pi, s):
    """The loss and its gradient in A1 and A2."""
    (W, b, a, f), law = output(A1, A2, s), target(pi, s)
    r = -law / (f + EPS) / len(s)
    dz = back(a, np.take_along_axis(r, s, axis=1))
    db = dz @ W
    dA2 = np.zeros_like(A2)
    np.add.at(dA2, (s, np.broadcast_to(s[:, -1:], s.shape)), db)
    return loss_of(f, law), back(W, dz.T @ b), dA2


def levels(s, law, alpha=ALPHA):
    """The losses of the shares of states, of the counts of pairs, and of the posterior mean."""
    states = law.shape[1]
    at = lambda chosen: np.stack([chosen(k) for k in range(states)], axis=1)
    share = at(lambda k: (s == k).mean(axis=1))
    after = s[:, :-2] == s[:, -1:]  # the query itself follows no one
    n = at(lambda k: (after & (s[:, 1:-1] == k)).sum(axis=1).astype(float))
    total = n.sum(axis=1, keepdims=True)
    pairs = np.where(total > 0, n / np.maximum(total, 1), share)
    mean = (n + alpha) / (total + states * alpha)
    best = -(law * np.log(mean)).sum(axis=1).mean() - np.log(1 + states * EPS)
    return loss_of(share, law), loss_of(pairs, law), best


def information(pi, length):
    """The chi-squared information of two tokens at each lag, mean over prompts."""
    mu, power, means = stationary(pi), np.broadcast_to(np.eye(pi.shape[1]), pi.shape), []
    for _ in range(length):
        P = mu[:, :, None] * power
        means.append(((P**2 / (mu[:, :, None] * mu[:, None, :])).sum(axis=(1, 2)) - 1).mean())
        power = power @ pi
    return np.array(means)


def trained(rng, length, counts, steps, rates, start):
    """A1 and A2 after stages, each with its rates; prompts for training and test."""
    train, test = draw(rng, counts[0], length), draw(rng, counts[1], length)
    A1, A2 = np.zeros((length, length)), start * np.eye(S)
    snapshots = []
    for stage, (one, two) in zip(steps, rates, strict=True):
        for _ in range(stage):
            _, d1, d2 = slopes(A1, A2, *train)
            A1, A2 = A1 - one * d1, A2 - two * d2
        snapshots.append((A1, A2))
    return snapshots, test


def two_stages(rng, length, counts, steps):
    """Attention to the parent after stage one, and the share of the way to the posterior mean."""
    (after, end), (pi, s) = trained(rng, length, counts, steps, ((300, 0), (0, 10)), 0.5)
    W, law = first(after[0]), target(pi, s)
    unigram, _, best = levels(s, law)
    return (
        np.mean([W[i, i - 1] for i in range(1, length - 1)]),
        (unigram - loss_of(output(*end, s)[3], law)) / (unigram - best),
    )


def at_once(rng, length, counts, steps):
    """The level of the counts of pairs less the loss at the end, both layers trained at once."""
    ((end,), (pi, s)) = trained(rng, length, counts, (steps,), ((30, 1),), 0.1)
    law = target(pi, s)
    return levels(s, law)[1] - loss_of(output(*end, s)[3], law)


def at_first(rng, length, count):
    """The correlation of the first descent direction with the information over j < i, and its mean
    at lag 2 over that at lag 1.
    """
    pi, s = draw(rng, count, length)
    _, d1, _ = slopes(np.zeros((length, length)), 0.5 * np.eye(S), pi, s)
    scaled, I = -d1 * np.arange(1, length + 1)[:, None], information(pi, length)
    rows = [(scaled[i, :i], I[i - np.arange(i)]) for i in range(1, length - 1)]
    x, y = (np.concatenate([v - v.mean() for v in side]) for side in zip(*rows, strict=True))
    ratio = np.diagonal(scaled, -2).mean() / np.diagonal(scaled, -1).mean()
    return x @ y / np.sqrt((x @ x) * (y @ y)), ratio


def replicate(
    seeds,
    length=16,
    counts=(1000, 2000),
    steps=(100, 100),
    joint_counts=(500, 2000),
    joint=1000,
    first_count=2000,
):
    """The statistics of each claim, one value per seed."""
    rngs = [np.random.default_rng((8, seed)) for seed in seeds]
    stages = np.array([two_stages(rng, length, counts, steps) for rng in rngs])
    begun = np.array([at_first(rng, length, first_count) for rng in rngs])
    return {
        "CG-2": stages[:, 0],
        "CG-4": stages[:, 1],
        "information": begun[:, 0],
        "CG-8": begun[:, 1],
        "CG-13": np.array([at_once(rng, length, joint_counts, joint) for rng in rngs]),
    }


TINY = {
    "length": 5,
    "counts": (9, 7),
    "steps": (3, 2),
    "joint_counts": (6, 8),
    "joint": 4,
    "first_count": 10,
}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand)."""
    T, data = 5, draw(rng, 6, 5)
    A1, A2 = rng.normal(size=(T, T)), rng.normal(size=(S, S))
    _, d1, d2 = slopes(A1, A2, *data)
    at = lambda x: slopes(x[: T * T].reshape(T, T), x[T * T :].reshape(S, S), *data)[0]
    point = np.concatenate([A1.ravel(), A2.ravel()])
    yield "both layers", at, point, np.concatenate([d1.ravel(), d2.ravel()])


def identities(rng):
    """Yield (name, value, equal value): the layers on one-hot tokens, mu, the information by
    eigenvalues and over all prompts, the levels by loops.
    """
    T, (pi, s) = 4, draw(rng, 3, 4)
    A1, A2 = rng.normal(size=(T, T)), rng.normal(size=(S, S))
    X = np.eye(S)[s[0]]
    a = softmax((first(A1) @ X) @ A2 @ X[-1])
    yield "the output", output(A1, A2, s)[3][0], X.T @ a
    yield "mu", stationary(pi)[0] @ pi[0], stationary(pi)[0]

    weights = rng.random((S, S)) + 0.1
    joint = (weights + weights.T) / (weights + weights.T).sum()
    chain = joint / joint.sum(axis=1, keepdims=True)  # reversible
    lam = np.sort(np.abs(np.linalg.eigvals(chain)))[:-1]
    yield "I, reversible", information(chain[None], 4)[3], (lam ** (2 * 3)).sum()

    mu, P = stationary(pi[:1])[0], np.zeros((S, S))
    for path in itertools.product(range(S), repeat=3):
        P[path[0], path[2]] += mu[path[0]] * pi[0][path[0], path[1]] * pi[0][path[1], path[2]]
    yield "I, all prompts", information(pi[:1], 3)[2], (P**2 / np.outer(mu, mu)).sum() - 1

    law, losses = target(pi, s), []
    for row, prompt in zip(law, s, strict=True):
        n = np.full(S, ALPHA)
        for i in range(1, T - 1):
            n[prompt[i]] += prompt[i - 1] == prompt[-1]
        losses.append(-(row * np.log(n / n.sum())).sum())
    yield "the posterior mean", levels(s, law)[2], np.mean(losses) - np.log(1 + S * EPS)
