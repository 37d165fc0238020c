"""The branches of minima by SciPy's root finder on other nodes, and in float64 throughout."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import optimize, special

from jaxtheory.theories.positional_semantic import laws
from jaxtheory.theories.positional_semantic.model import Config

SIGMA, OMEGA, A, RHO, RIDGE = 0.5, 0.3, 0.1, 2.0, 0.01


def attention(h):
    """S_1, S_2."""
    e = np.exp(np.outer(h, h))
    return np.diag(e / e.sum(axis=1, keepdims=True))


def minimum(w, t, V):
    """The scores at which the energy of a sample is stationary, from w."""

    def force(h):
        S = attention(h)
        b = 2 * SIGMA**2 * (S - t) * S * (1 - S)
        pull = [b[0] * (2 * h[0] - h[1]) - b[1] * h[1], b[1] * (2 * h[1] - h[0]) - b[0] * h[0]]
        return (h - w) / (SIGMA**2 * V) + pull

    return optimize.root(force, w).x


@pytest.mark.parametrize("start", ["positional", "semantic"])
@pytest.mark.parametrize("ratio", [3.0])
def test_a_branch_solves_its_equations(start, ratio):
    """V^, q^, m^ and theta^ by Stein's formula on 7 nodes give V, q, m, theta and the energy."""
    with jax.enable_x64(True):
        branch = laws.branch(start, [ratio], Config())
    assert branch.residual[0] < 1e-9
    q, theta, m, V, energy, error = (float(x[0]) for x in branch[:6])
    x, weight = special.roots_hermitenorm(7)
    nodes = list(zip(x, weight / weight.sum(), strict=True))
    root, share, s = math.sqrt(q), theta / math.sqrt(q), np.array([1, -1])
    noise, sums = math.sqrt(1 - share**2), np.zeros(6)
    for four in itertools.product(nodes, repeat=4):
        xi, zeta = np.array([z for z, _ in four]).reshape(2, 2)
        w = SIGMA * root * xi + s * m
        t = (1 - OMEGA) * attention(SIGMA * (share * xi + noise * zeta)) + OMEGA * (0.5 + A)
        h = minimum(w, t, V)
        f, loss = (h - w) / (SIGMA**2 * V), SIGMA**2 * ((t - attention(h)) ** 2).sum()
        fresh = 2 * SIGMA**2 * ((t - attention(w)) ** 2).sum()
        terms = [f @ xi, f @ f, f @ s, f @ zeta, loss, fresh]
        sums += math.prod(u for _, u in four) * np.array(terms)
    by_chi = sums[3] / (SIGMA * noise)
    by_w = sums[0] / (SIGMA * root) - theta / q * by_chi
    V_new = 1 / (RIDGE - ratio * SIGMA**2 * by_w)
    q_, m_, theta_ = ratio * SIGMA**2 * sums[1], ratio * sums[2], ratio * SIGMA**2 * by_chi
    got = [V_new, V_new * theta_, RHO**2 * V_new * m_]
    got += [V_new**2 * (q_ + theta_**2 + RHO**2 * m_**2), ratio * sums[4] + RIDGE * q / 2, sums[5]]
    np.testing.assert_allclose(got, [V, theta, m, q, energy, error], rtol=0.01, atol=1e-9)


def test_growth_from_zero():
    """-d2L/dQ2 at Q = 0 along p and Q* is that of docs/positional_semantic.md, for many samples."""
    n, d = 30000, 100
    rng = np.random.default_rng(0)
    x, gap = SIGMA * rng.normal(size=(n, 2, d)), []
    g = ((x[:, 0] - x[:, 1]) ** 2).sum(axis=1) / d
    truth, p = np.eye(d)[0] * math.sqrt(d), np.eye(d)[1] * RHO
    t = [(1 - OMEGA) * attention(h) + OMEGA * (0.5 + A) for h in x @ truth / math.sqrt(d)]
    for v, e in ((p / RHO, 0.02), (truth / math.sqrt(d), 0.02)):
        h = (x @ v + np.array([1, -1]) * (p @ v)) / math.sqrt(d) * e
        u = h * (h - h[:, ::-1])
        lost = g * ((1 / (1 + np.exp(-u)) - t) ** 2 - (0.5 - np.array(t)) ** 2).sum(axis=1) / 2
        gap.append(-2 * d / n * lost.sum() / e**2)
    z, w = special.roots_hermitenorm(40)
    one, two = np.meshgrid(SIGMA * z, SIGMA * z)
    w = np.outer(w, w) / w.sum() ** 2
    more = (1 - OMEGA) / (1 + np.exp(-one * (one - two))) + OMEGA * (0.5 + A) - 0.5
    tau, kappa = (w * more).sum(), (w * more * one * (one - two)).sum()
    want = [2 * SIGMA**2 * tau * (SIGMA**2 + 2 * RHO**2), 2 * SIGMA**2 * kappa]
    np.testing.assert_allclose(gap, want, rtol=0.06)
