"""The layer as the source writes it, and moments of Gaussians by quadrature.

The layer acts on the matrix of all tokens.
"""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.theories.in_context_regression.model import Config, Literal, Params


def spectrum(config: Config) -> Float[Array, " D"]:
    """The eigenvalues (D, .., 1)^a, scaled to the trace; for a config without padding."""
    D = Size.wrap(config.dimension).cap
    weight = jnp.asarray(np.arange(D, 0, -1.0)) ** config.spectrum
    return config.total_variance * weight / jnp.sum(weight)


def full_matrices(params: Params) -> tuple[Float[Array, "H t t"], Float[Array, "H t t"]]:
    """W_V and W_KQ of every head, (D+1) x (D+1), with the label last as in the source.

    The entries that do not reach the output are 1.
    """
    if isinstance(params, Literal):
        v, U = jnp.roll(params.v, -1, axis=1), jnp.roll(params.U, -1, axis=1)
    else:
        if hasattr(params, "K"):
            U = jnp.stack(
                [
                    sum(jnp.outer(k, q) for k, q in zip(*kq, strict=True))
                    for kq in zip(*params[1:], strict=True)
                ]
            )
        else:
            U = params.U
        D = U.shape[2]
        v = jnp.concatenate([jnp.zeros((len(U), D)), params.v[:, None]], axis=1)
        U = jnp.concatenate([U, jnp.zeros((len(U), 1, D))], axis=1)
    t = U.shape[1]
    W_V = jnp.ones((len(U), t, t)).at[:, -1].set(v)
    W_KQ = jnp.ones((len(U), t, t)).at[:, :, : t - 1].set(U)
    return W_V, W_KQ


def output(
    params: Params,
    x: Float[Array, "N D"],
    y: Float[Array, " N"],
    query: Float[Array, " D"],
) -> Float[Array, ""]:
    """Entry (D+1, N+1) of Z + sum_h W_V Z Z^T W_KQ Z / N for one prompt."""
    W_V, W_KQ = full_matrices(params)
    Z = jnp.block([[x.T, query[:, None]], [y[None, :], jnp.zeros((1, 1))]])
    layer = Z + sum(V @ Z @ Z.T @ KQ @ Z for V, KQ in zip(W_V, W_KQ, strict=True)) / len(y)
    return layer[-1, -1]


def quadrature(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [node, count] and weights for the expectation over `count` standard normal numbers.

    It is exact for polynomials of degree 5 in each number.
    """
    root = 3**0.5
    nodes = np.array(list(itertools.product((-root, 0.0, root), repeat=count)))
    weights = np.array(list(itertools.product((1 / 6, 2 / 3, 1 / 6), repeat=count)))
    return nodes.reshape(-1, count), weights.reshape(-1, count).prod(axis=1)


def moments(task: Float[Array, " D"], config: Config) -> tuple[Array, Array, Array]:
    """E y^2, E y beta x^T and E beta beta^T of the prompts, by quadrature over x_1..x_N and w."""
    D, N = Size.wrap(config.dimension).cap, Size.wrap(config.length).cap
    nodes, weight = quadrature(N * D)
    lam, share = spectrum(config), config.in_weight_share
    x = nodes.reshape(-1, N, D) * jnp.sqrt(lam)[None, None, :]
    S = jnp.einsum("mni,mnj->mij", x, x) / N
    w, of_w = quadrature(D)
    W = (1 - share) * jnp.einsum("m,mi,mj->ij", of_w, w, w) + share * jnp.outer(task, task)
    E = jnp.einsum("m,mij,jk,mlk->il", weight, S, W, S)
    first = jnp.einsum("m,mij->ij", weight, S)
    return jnp.sum(lam * jnp.diag(W)), first @ W * lam[None, :], E
