"""Linear attention on linear regression with few tasks, in plain NumPy from arXiv 2405.11751.

    x_i, x ~ N(0, I/d),  w one of k vectors on the sphere of radius sqrt(d),
    y_i = <w, x_i> + noise,  y = <w, x> + noise,  noise ~ N(0, rho)
    Z = x h^T,  h = ((d/l) sum_i y_i x_i, (1/l) sum_i y_i^2),  f = <G, Z>,  G in R^(d x (d+1))

G minimizes the mean of (y - f)^2 over n prompts, with the least norm. With s = 1 + rho and h =
(beta, q), a fixed w has

    E beta beta^T = (1 + 1/l) w w^T + (d s / l) I,  E beta q = s (1 + 2/l) w,
    E q^2 = s^2 (1 + 2/l),  E beta = w,  E q = s,
    e(G) = s + (1/d) (tr G M G^T - 2 <G, E w h^T>),  M = E h h^T

A fresh w has E w w^T = I and E w = 0 (ICL error); the k tasks have their own means (IDG error).
"""

import itertools

import numpy as np

RHO = 0.01


def sphere(rng, count, d):
    """Tasks."""
    w = rng.normal(size=(count, d))
    return d**0.5 * w / np.linalg.norm(w, axis=1, keepdims=True)


def prompt(x, y):
    """h of prompts."""
    l, d = x.shape[-2:]
    beta = d / l * np.einsum("...l,...ld->...d", y, x)
    return np.concatenate([beta, (y**2).mean(axis=-1)[..., None]], axis=-1)


def draw(rng, w, l, rho=RHO):
    """h, x and y of a prompt for each task."""
    n, d = w.shape
    x, query = rng.normal(size=(n, l, d)) / d**0.5, rng.normal(size=(n, d)) / d**0.5
    y = np.einsum("nld,nd->nl", x, w) + rho**0.5 * rng.normal(size=(n, l))
    label = (query * w).sum(axis=1) + rho**0.5 * rng.normal(size=n)
    return prompt(x, y), query, label


def rows(h, x):
    """Z of prompts, flat."""
    return (x[:, :, None] * h[:, None, :]).reshape(len(x), -1)


def moments(second, first, l, rho):
    """M and E w h^T of tasks with E w w^T and E w."""
    d, s = len(first), 1 + rho
    M = np.zeros((d + 1, d + 1))
    M[:d, :d] = (1 + 1 / l) * second + d * s / l * np.eye(d)
    M[:d, d] = M[d, :d] = s * (1 + 2 / l) * first
    M[d, d] = s**2 * (1 + 2 / l)
    return M, np.hstack([second, s * first[:, None]])


def of_fresh(d, l, rho=RHO):
    return moments(np.eye(d), np.zeros(d), l, rho)


def of_tasks(w, l, rho=RHO):
    return moments(w.T @ w / len(w), w.mean(axis=0), l, rho)


def error(G, law, rho=RHO):
    """e(G)."""
    M, cross = law
    return 1 + rho + (((G @ M) * G).sum() - 2 * (G * cross).sum()) / len(G)


def least_norm(h, x, y):
    """The minimum."""
    d = x.shape[1]
    return np.linalg.lstsq(rows(h, x), y, rcond=None)[0].reshape(d, d + 1)


def slope(G, h, x, y, penalty=0.0):
    """The gradient of mean (y - f)^2 + penalty |G|^2."""
    residual = ((x @ G) * h).sum(axis=1) - y
    return 2 / len(y) * (residual[:, None] * x).T @ h + 2 * penalty * G


def loss(G, h, x, y, penalty=0.0):
    return ((((x @ G) * h).sum(axis=1) - y) ** 2).mean() + penalty * (G**2).sum()


def descended(h, x, y, eta, steps):
    """Descent from 0."""
    G = np.zeros((x.shape[1], h.shape[1]))
    for _ in range(steps):
        G = G - eta * slope(G, h, x, y)
    return G


def M_of(kappa, x):
    b = x + 1 - 1 / kappa
    return 2 / (b + np.sqrt(b**2 + 4 * x / kappa))


def result_one(alpha, kappa, tau, rho=RHO):
    """The ICL error for d -> infinity, l = alpha d, k = kappa d, n = tau d^2."""
    x = (1 + rho) / alpha
    if tau < 1:
        mu = x * M_of(kappa / tau, x)
        inner = 1 - tau * (1 - mu) ** 2 - mu * (x - rho) / x
        return tau * (1 + x) / (1 - tau) * inner - 2 * tau * (1 - mu) + rho + 1
    m = M_of(kappa, x)
    star, over = 1 / (1 - kappa * (m / (kappa + m)) ** 2), 1 / (tau - 1)
    remainder = (
        (3 - 2 * tau) * over * m * x**2 + ((1 + rho) * m * over + 1) * x + rho * m * over + rho
    )
    return (star - over) * (1 + x) * (x * m) ** 2 + remainder


def at_minimum(rng, d, l, k, n):
    """log10 of the ICL error of the minimum over Result 1, and of its IDG error over it."""
    w = sphere(rng, k, d)
    G = least_norm(*draw(rng, w[rng.integers(k, size=n)], l))
    icl_error, law = error(G, of_fresh(d, l)), result_one(l / d, k / d, n / d**2)
    return np.log10(icl_error / law), np.log10(error(G, of_tasks(w, l)) / icl_error)


def at_peak(rng, d, l, k, eta, steps):
    """log10 of the ICL error of the minimum at n = d^2, and after some steps of descent."""
    w = sphere(rng, k, d)
    prompts = draw(rng, w[rng.integers(k, size=d * d)], l)
    solutions = least_norm(*prompts), descended(*prompts, eta, steps)
    return tuple(np.log10(error(G, of_fresh(d, l))) for G in solutions)


def replicate(seeds, d=16, shares=(0.4, 1.5), eta=0.5, steps=200):
    """The statistics, one value per seed."""
    rngs = [np.random.default_rng((9, seed)) for seed in seeds]
    small, large = (
        np.array([at_minimum(rng, d, d, d // 2, round(share * d * d)) for rng in rngs])
        for share in shares
    )
    peak = np.array([at_peak(rng, d, d, d // 2, eta, steps) for rng in rngs])
    return {
        "few": small[:, 0],
        "many": large[:, 0],
        "few in law": small[:, 1],
        "many in law": large[:, 1],
        "peak": peak[:, 0],
        "stopped": peak[:, 1],
    }


TINY = {"d": 4, "steps": 5}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand)."""
    d, G = 3, rng.normal(size=(3, 4))
    data = draw(rng, sphere(rng, 6, d), 4)
    for penalty in (0.0, 0.3):
        at = lambda x, penalty=penalty: loss(x.reshape(d, d + 1), *data, penalty)
        yield f"penalty {penalty}", at, G.ravel(), slope(G, *data, penalty).ravel()


def spread(kappa, count=4000):
    """Values and weights of the eigenvalues of (1/k) sum w w^T for d -> infinity."""
    phi, c = (np.arange(count) + 0.5) * np.pi / count, 1 / kappa
    r = 1 + c - 2 * c**0.5 * np.cos(phi)
    return np.append(r, 0), np.append(2 / count * np.sin(phi) ** 2 / r, max(0, 1 - kappa))


def limit(alpha, kappa, tau, rho):
    """The ICL error of the minimum, as if the rows Z were Gaussian with their covariance."""
    r, weight = spread(kappa)
    x, mean, low, high = (1 + rho) / alpha, lambda v: (weight * v).sum(), 0.0, 1e3
    for _ in range(200 if tau < 1 else 0):
        nu = (low + high) / 2
        low, high = (nu, high) if mean((r + x) / (r + x + nu)) > tau else (low, nu)
    g = r / (r + x + low)
    inside = rho + mean(r - 2 * r * g + (r + x) * g**2)
    inside = inside / (1 - mean((r + x) ** 2 / (r + x + low) ** 2) / tau)
    vary = mean((r + x) * (1 + x) / (r + x + low) ** 2) / tau
    return rho + mean(1 - 2 * g + (1 + x) * g**2) + inside * vary


def identities(rng):
    """Yield (name, value, equal value): moments and errors by quadrature, the minimum, Result 1."""
    d, l, rho = 2, 2, 0.3
    G, w = rng.normal(size=(d, d + 1)), sphere(rng, 1, d)[0]
    nodes = np.array(list(itertools.product((-(3**0.5), 0.0, 3**0.5), repeat=l * d + l)))
    weight = np.prod(np.where(nodes == 0, 2 / 3, 1 / 6), axis=1)
    x = nodes[:, : l * d].reshape(-1, l, d) / d**0.5
    h = prompt(x, x @ w + rho**0.5 * nodes[:, l * d :])
    M, cross = moments(np.outer(w, w), w, l, rho)
    yield "M", np.einsum("p,pi,pj->ij", weight, h, h), M
    yield "E w h^T", np.outer(w, weight @ h), cross
    residual = w - h @ G.T
    yield "e", rho + weight @ (residual**2).sum(axis=1) / d, error(G, (M, cross), rho)

    w = np.array([[1.0, 1.0], [-1.0, 1.0]])
    task_moments = [moments(np.outer(v, v), v, l, rho) for v in w]
    for name, one, two in zip(
        ("M of tasks", "E w h^T of tasks"),
        of_tasks(w, l, rho),
        zip(*task_moments, strict=True),
        strict=True,
    ):
        yield name, one, np.mean(two, axis=0)

    prompts = draw(rng, sphere(rng, 5, 2), 3)
    best = least_norm(*prompts)
    yield "the slope at the minimum", slope(best, *prompts), np.zeros_like(best)
    Z = rows(*prompts[:2])
    yield "its norm", best.ravel(), Z.T @ np.linalg.solve(Z @ Z.T, prompts[2])
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    shrink = np.where(values > 1e-9, 1 - (1 - 0.1 * values) ** 7, 0)
    yield (
        "descent",
        descended(*prompts, 0.05, 7).ravel(),
        (vectors * shrink) @ vectors.T @ best.ravel(),
    )

    for tau in (0.4, 3.0):
        for kappa in (0.5, 4.0):
            yield "Result 1", result_one(2, kappa, tau, 0.25), limit(2, kappa, tau, 0.25)
