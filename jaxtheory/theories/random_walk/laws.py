"""Training reduced to a few scalars: the first step, two runs, and the limits.

The runs are the one after the parent is selected and the symmetric one at p in {0, 1}. By rotation
of the circle the population keeps V circulant, V_yk = v(y - k), and u constant. So V is the K
numbers v(d).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Bool, Float

from jaxtheory.ops import linalg
from jaxtheory.ops.positions import indices
from jaxtheory.theories.random_walk import calculus, data, model
from jaxtheory.theories.random_walk.model import Config

GRID, HALVINGS = 400, 50  # values of p in [1/2, 1) that are searched, and bisections after them
TIE = 1e-9  # a lag whose score is as close as this to the parent's is tied with it


def lag_law_sum(config: Config) -> Float[Array, " K"]:
    """sum_{l=1}^{N-1} P(y - s_{N-l} = d): the first column of sum_l (Pi^T)^l."""
    K, N, p = config.num_states, config.length, config.clockwise_probability
    d = indices(K.cap)
    below, above = (d - 1) % K.n, (d + 1) % K.n

    def next_lag(law: Array, lag: Array) -> tuple[Array, Array]:
        law = jnp.where(K.mask(), p * law[below] + (1 - p) * law[above], 0)
        return law, jnp.where(lag < N.n, law, 0)

    _, laws = jax.lax.scan(next_lag, (d == 0).astype(float), 1 + indices(N.cap - 1))
    return jnp.sum(laws, axis=0)


def lag_scores(p: Float[Array, ""], config: Config) -> Float[Array, " lags"]:
    """The scores sum_d P_l(d) sum_m P_m(d) of the lags l = 1..N-1; -inf beyond N - 1.

    P_l(d) is the probability that the label is d steps clockwise of the token of lag l. The second
    step of the population moves the positional score of lag l in proportion to it: the first one
    makes V the sum over m of these laws, and attention moves to the lags whose tokens get most of
    it. Source: derived.
    """
    K, N = config.num_states, config.length
    d = indices(K.cap)
    below, above = (d - 1) % K.n, (d + 1) % K.n

    def next_lag(law: Array, lag: Array) -> tuple[Array, Array]:
        law = jnp.where(K.mask(), p * law[below] + (1 - p) * law[above], 0)
        return law, jnp.where(lag < N.n, law, 0)

    lags = 1 + indices(N.cap - 1)
    _, laws = jax.lax.scan(next_lag, (d == 0).astype(float), lags)
    return jnp.where(lags < N.n, laws @ jnp.sum(laws, axis=0), -jnp.inf)


def parent_margin(p: Float[Array, ""], config: Config) -> Float[Array, ""]:
    """The score of the parent minus the largest of the others, over the parent's.

    It is negative where attention moves to another lag first.
    """
    scores = lag_scores(p, config)
    return 1 - jnp.max(scores[1:], initial=-jnp.inf) / scores[0]


def predict_boundary(config: Config) -> Float[Array, ""]:
    """p*, the smallest p > 1/2 at which another lag scores as much as the parent.

    The scores are those of the second step of the population, so p* is the root of `parent_margin`;
    it is NaN where no other lag scores as much below p = 1 - 1 / (2 GRID). p* exists for K of about
    17 and more, falls with K, and lies near 1 on smaller circles. For p < 1/2 it is mirrored, 1 -
    p*. The clockwise probability of the config is not read.
    Source: derived; it says where the theorem's selection, for any 0 < p < 1, is not that of the
    first steps.
    """
    margin = lambda p: parent_margin(p, config)
    p = jnp.linspace(0.5, 1.0, GRID + 1)[:-1]
    lost = jax.vmap(margin)(p) < -TIE
    first = jnp.argmax(lost)
    step = p[1] - p[0]
    low = jnp.where(first > 0, p[first] - step, p[first])

    def halve(_: Array | int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        parent_wins = margin(middle) >= 0
        return jnp.where(parent_wins, middle, low), jnp.where(parent_wins, high, middle)

    _, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, p[first]))
    return jnp.where(jnp.any(lost), high, jnp.nan)


def first_step(config: Config) -> Float[Array, "K K"]:
    """V after the population's first step from zero, in which u and w stay zero.

    V = eta r(0) / (N K) sum_{l=1}^{N-1} (Pi^T)^l, with r(0) = -ell'(0). The attention weight is
    1/N, not 1/(N - 1): the query takes the rest. r(0) = 1/eps for the log loss.
    Source: "Towards Understanding Transformers in Learning Random Walks", Lemma C.1 (rederived, for
    any loss of f_y).
    """
    K, N = config.num_states, config.length
    rate = config.learning_rate * calculus.slope(jnp.zeros(()), config) / (N.real * K.real)
    return data.circulant(rate * lag_law_sum(config), config)


def adam_first_step(config: Config) -> Float[Array, "K K"]:
    """V after Adam's first step from zero, for infinitely many sequences.

    V = eta G / (|G| + eps_A) entry by entry, where eta G is `first_step` and eps_A the offset; u
    and w stay zero. With eps_A far below |G| each entry whose pair (label, token) occurs becomes
    eta, which is the first step of sign descent. The contrast (max - min) / max over entries of one
    sign is that of G times eps_A / (eps_A + min |G|).
    Source: derived.
    """
    G = first_step(config) / config.learning_rate
    return config.learning_rate * G / (jnp.abs(G) + config.adam_epsilon)


def saturated_step(v: Float[Array, " K"], config: Config) -> Float[Array, " K"]:
    """One population step once attention sits on the parent; only v(1) and v(-1) move.

    v(d) <- v(d) + eta / K P(y - s_{N-1} = d) r(v(d)). For the log loss v(1) ~ sqrt(2 eta p t / K),
    so v(1)/v(-1) -> sqrt(p / (1 - p)), not p / (1 - p).
    """
    rate = config.learning_rate / config.num_states.real
    return v + rate * data.step_law(config) * calculus.slope(v, config)


class Curve(NamedTuple):
    """The values v(d) of the population at each step, and its mean loss."""

    v: Float[Array, "T K"]
    loss: Float[Array, " T"]


def selected_run(config: Config, length: int) -> Curve:
    """Steps 0..length-1 of the population from zero at 0 < p < 1.

    Attention is uniform for two steps, and the parent is selected afterwards. The step t = 1 is
    exact. At t = 2 the label's output is replaced by its mean f = sum_d v(d) P_lags(d) / N instead
    of its law. Each start averages over large batches: sampled runs add errors of order B^(-1/2).
    """
    N, K = config.length.real, config.num_states.real
    share = lag_law_sum(config) / N

    def following(v: Array, t: Array) -> tuple[Array, Curve]:
        f = jnp.sum(v * share)
        mean_loss = jnp.where(
            t < 2, model.ell(f, config), jnp.sum(data.step_law(config) * model.ell(v, config))
        )
        early = v + config.learning_rate / K * share * calculus.slope(f, config)
        return jnp.where(t < 2, early, saturated_step(v, config)), Curve(v, mean_loss)

    return jax.lax.scan(following, jnp.zeros_like(share), indices(length))[1]


class Symmetric(NamedTuple):
    """The symmetric run, and the `growth` of a disturbance.

    V = alpha 1 1^T, and attention is `token` on every token and `query` on the query.
    """

    alpha: Float[Array, " T"]
    token: Float[Array, " T"]
    query: Float[Array, " T"]
    growth: Float[Array, " T"]


def symmetric_run(config: Config, length: int) -> Symmetric:
    """Steps 0..length-1 of the population from zero at p in {0, 1}, N = rK + 1.

    Nothing is learned there. The growth of a small disturbance comes with the steps. With S =
    token, T = query = S e^g, f = alpha (N - 1) S, r = -ell'(f):
        alpha <- alpha + eta r (N - 1) S / K^2,   g <- g - eta r T S alpha ((N - 1) rate_N + rate_w
                                                  + rate_u (N - 1) / K)
    A disturbance of the scores enters through its sums Z(d) over the positions of lag d (mod K),
    less their mean, and through v(d):
        v <- v + eta r S Z / K,   Z <- Z + eta rate_w r S (alpha T Z + v (N - 1) / K)
    `growth` is Z_t / Z_0 for v_0 = 0, to first order in Z_0.

    Source: the failure theorem is the source's, for any loss; the recursions and the growth are
    derived here.
    """
    K, N, eta = config.num_states.real, config.length.real, config.learning_rate
    turns = (N - 1) / K
    rate_u, rates_w = model.rates(config)
    rate_w, rate_query = rates_w[0], jnp.take(rates_w, config.length.n - 1)

    def following(state: tuple, _: None) -> tuple[tuple, Symmetric]:
        alpha, gap, v, Z = state
        high = jnp.maximum(gap, 0)
        token = jnp.exp(-high) / ((N - 1) * jnp.exp(-high) + jnp.exp(gap - high))
        query = jnp.exp(gap - high) / ((N - 1) * jnp.exp(-high) + jnp.exp(gap - high))
        move = eta * calculus.slope(alpha * (N - 1) * token, config)
        new = (
            alpha + move * turns * token / K,
            gap - move * query * token * alpha * ((N - 1) * rate_query + rate_w + rate_u * turns),
            v + move * token * Z / K,
            Z + rate_w * move * token * (alpha * query * Z + turns * v),
        )
        return new, Symmetric(alpha, token, query, Z)

    zero = jnp.zeros(())
    return jax.lax.scan(following, (zero, zero, zero, zero + 1), None, length=length)[1]


def fails(config: Config) -> Bool[Array, ""]:
    """True where the failure theorem applies.

    It applies to p in {0, 1}, N = rK + 1, the zero start and a linear value.
    """
    K, N, p = config.num_states.n, config.length.n, jnp.asarray(config.clockwise_probability)
    at_zero = (jnp.asarray(config.init_scale) == 0) & (jnp.asarray(config.perturbation) == 0)
    applies = config.task == "walk" and config.value == "linear"
    return ((p == 0) | (p == 1)) & ((N - 1) % K == 0) & at_zero & applies


def best_accuracy(config: Config) -> Float[Array, ""]:
    """The accuracy of the best predictor of the whole sequence.

    It is max(p, 1 - p) for the walk and 1 for the questions.
    """
    p = jnp.asarray(config.clockwise_probability, float)
    return jnp.maximum(p, 1 - p) if config.task == "walk" else jnp.ones(())


def limit_error(config: Config) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """The errors that remain against Pi^T when V has the direction (sqrt p, sqrt(1 - p)).

    They are the direction error and the KL divergence, both 0 only at p = 1/2, and
    | f/|f| - Pi^T x |, never 0 for 0 < p < 1. With q = 1 - p: | (sqrt p, sqrt q) - (p, q) / |(p,
    q)| |, log(sqrt p + sqrt q) + (p log p + q log q) / 2, and | (sqrt p, sqrt q) - (p, q) |.
    Source: derived; the source's theorem and corollary state 0 for all three.
    """
    p = jnp.asarray(config.clockwise_probability, float)
    law = jnp.stack([p, 1 - p])
    root = jnp.sqrt(law)
    entropy = -jnp.sum(jnp.where(law > 0, law * jnp.log(jnp.where(law > 0, law, 1)), 0))
    return (
        linalg.direction_error(root, law),
        jnp.log(jnp.sum(root)) - entropy / 2,
        jnp.linalg.norm(root - law),
    )


def normal_range(n: Float[Array, ""] | int) -> Float[Array, ""]:
    """E[max - min] of n standard normals = integral of 1 - Phi^n - (1 - Phi)^n."""
    x = jnp.linspace(-9.0, 9.0, 2001)
    below = jnp.exp(n * jnp.log(jnp.maximum(norm.cdf(x), 1e-30)))
    return jnp.sum(1 - below - below[::-1]) * (x[1] - x[0])
