"""Closed-form gradients, and the exact reduction of the population's descent to six numbers.

The gradients are those of the layer and of the linear predictor.

With c = -y sigma(-y f) per sample, a = H^T v, m_j = sum_k a_k S_kj and R_kj = c S_kj (a_k - m_j):

    dv = E c H S 1_D,   dW = E H R H^T

in blocks dv1 = E c X S 1, dv2 = P E c S 1, dW11 = E X R X^T, dW12 = E[X R] P^T, dW21 = P E[R X^T],
dW22 = P E[R] P^T. The columns of R sum to 0 on every sample.

The law of (X, y) does not change under (i) orthogonal maps of all x_j that fix v*, (ii) x_j ->
x_j - 2 <v*, x_j> v* with y -> -y, (iii) permutations of the groups other than j*. Descent from 0
therefore stays at

    v = [c v*; 0],   W12 = 0,  W21 = 0,   W11 = a v* v*^T + b (I - v* v*^T),   A = P^T W22 P
                                          constant on five classes of (k, j):

(j*, j*), (j*, l), (k, j*), (k, k), (k, l); the columns of A sum to 0, which leaves three of them
(two at D = 2).

With u_j = <v*, x_j> and G the Gram matrix of what is orthogonal to v*, scores are a u_k u_j + b
G_kj + A_kj and f = c sum_k u_k sum_j S_kj.

Source: derived; "Transformer Learns Optimal Variable Selection in Group-Sparse Classification"
states the form of v and the selection.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.group_sparse import data, model
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem, Tuned


def gradient(
    params: Params | Tuned | Linear, batch: Batch, _problem: Problem, config: Config
) -> Params | Tuned | Linear:
    """The gradient of `model.loss`: of the mean over samples. Source: derived."""
    model.fit(params, batch, config)
    if isinstance(params, Params):
        return layer_gradient(params, batch, config)
    if isinstance(params, Tuned):
        return Tuned(layer_gradient(params.layer, batch, config))
    return Linear(
        jnp.einsum("ajn,n->aj", batch.x, slope(model.output(params, batch.x, config), batch))
    )


def layer_gradient(params: Params, batch: Batch, config: Config) -> Params:
    """The blocks of dv and dW (top of this file)."""
    x = batch.x
    S = model.attend(params, x, config)
    a = model.token_values(params, x, config)
    m = jnp.sum(S * a[:, None, :], axis=0)
    c = slope(jnp.sum(m, axis=0), batch)
    R = S * (a[:, None, :] - m[None]) * c[None, None, :]
    weights = jnp.sum(S, axis=1) * c[None, :]
    XR = sum(
        (x[:, k, None, :] * R[k][None] for k in range(1, len(R))),
        start=x[:, 0, None, :] * R[0][None],
    )
    P = model.encodings(config)
    return Params(
        jnp.einsum("akn,kn->a", x, weights),
        P @ jnp.sum(weights, axis=1),
        jnp.einsum("ajn,bjn->ab", XR, x),
        jnp.sum(XR, axis=2) @ P.T,
        P @ jnp.einsum("kjn,bjn->kb", R, x),
        P @ jnp.sum(R, axis=2) @ P.T,
    )


def slope(f: Float[Array, " n"], batch: Batch) -> Float[Array, " n"]:
    """c over n, the derivative of the mean loss in each f."""
    return -batch.weight * batch.y * jax.nn.sigmoid(-batch.y * f)


# The reduction


class Reduced(NamedTuple):
    """The layer on the invariant set, in six numbers. At D = 2, `diagonal` is -`pull`."""

    c: Float[Array, ""]
    a: Float[Array, ""]
    b: Float[Array, ""]
    selected: Float[Array, ""]  # A_{j* j*}
    pull: Float[Array, ""]  # A_{j* l}, l != j*
    diagonal: Float[Array, ""]  # A_kk, k != j*


def start() -> Reduced:
    """The zero start, v = 0 and W = 0."""
    return Reduced(*(jnp.zeros(()) for _ in Reduced._fields))


def classes(config: Config) -> tuple[Float[Array, "D D"], Float[Array, "D D"], Float[Array, "D D"]]:
    """Indicators over (k, j) of (j*, j*), (j*, l) and (k, k) with k, l != j*."""
    star = model.relevant(config)
    irrelevant = jnp.where(config.num_groups.mask(), 1 - star, 0)
    return star[:, None] * star[None, :], star[:, None] * irrelevant[None, :], jnp.diag(irrelevant)


def positions(reduced: Reduced, config: Config) -> Float[Array, "D D"]:
    """The matrix A, whose columns sum to 0.

    A_{k j*} = -A_{j* j*} / (D - 1) and A_kl = -(A_{j* l} + A_kk) / (D - 2).
    """
    star = model.relevant(config)
    irrelevant = jnp.where(config.num_groups.mask(), 1 - star, 0)
    D = jnp.asarray(config.num_groups.real, float)
    off_diagonal = -(reduced.pull + reduced.diagonal) / jnp.maximum(D - 2, 1)
    first, second, third = classes(config)
    fourth = irrelevant[:, None] * star[None, :]
    fifth = irrelevant[:, None] * irrelevant[None, :] - third
    return (
        reduced.selected * first
        + reduced.pull * second
        + reduced.diagonal * third
        - reduced.selected / (D - 1) * fourth
        + jnp.where(D > 2, off_diagonal, 0) * fifth
    )


def embed(reduced: Reduced, problem: Problem, config: Config) -> Params:
    """The layer that has these six numbers: W22 = P A P^T / rho^2."""
    d, D, v = config.group_dim, config.num_groups, problem.truth
    projector = v[:, None] * v[None, :]
    P = model.encodings(config)
    rho = (jnp.asarray(D.real, float) + 1) / 2
    return Params(
        reduced.c * v,
        jnp.zeros(D.cap),
        reduced.a * projector + reduced.b * (jnp.diag(d.mask().astype(float)) - projector),
        jnp.zeros((d.cap, D.cap)),
        jnp.zeros((D.cap, d.cap)),
        P @ positions(reduced, config) @ P.T / rho**2,
    )


def project(params: Params, problem: Problem, config: Config) -> Reduced:
    """The six numbers of the nearest invariant layer.

    They are averages over the symmetries, for A after its columns are centered, since those of the
    form sum to 0. project(embed(reduced)) = reduced.
    """
    v, D = problem.truth, config.num_groups
    a = v @ params.W11 @ v
    A = model.positional(params, config)[3]
    A = jnp.where(D.mask()[:, None], A - jnp.sum(A, axis=0, keepdims=True) / D.real, 0)
    return Reduced(
        params.v1 @ v,
        a,
        (jnp.trace(params.W11) - a) / (config.group_dim.real - 1),
        *(jnp.sum(A * i) / jnp.sum(i) for i in classes(config)),
    )


def velocity(reduced: Reduced, batch: Batch, problem: Problem, config: Config) -> Reduced:
    """The rate of change of the six numbers per unit of -eta.

    It is the gradient averaged over the symmetries, from D x D arrays per sample alone.

    It is the full gradient on the sample completed by all symmetries, and tends to the population's
    gradient as n grows. A moves at rho^2 times dL/dA, since W22 = P A P^T / rho^2.
    """
    x = batch.x
    u = data.inner_products(problem.truth, x)
    uu = u[:, None, :] * u[None, :, :]
    G = jnp.sum(x[:, :, None, :] * x[:, None, :, :], axis=0) - uu
    z = reduced.a * uu + reduced.b * G + positions(reduced, config)[:, :, None]
    S = model.select(z, config)
    read = jnp.sum(u[:, None, :] * S, axis=0)
    g = slope(reduced.c * jnp.sum(read, axis=0), batch)
    R = reduced.c * g[None, None, :] * S * (u[:, None, :] - read[None])
    rho = (jnp.asarray(config.num_groups.real, float) + 1) / 2
    dA = jnp.sum(R, axis=2)
    of_A = (rho**2 * jnp.sum(dA * i) / jnp.sum(i) for i in classes(config))
    return Reduced(
        jnp.sum(g[None, :] * read),
        jnp.sum(R * uu),
        jnp.sum(R * G) / (config.group_dim.real - 1),
        *of_A,
    )
