"""The gradient in closed form, and the minimum and the whole path of descent by one factorization.

With the features Z_p = x h^T, h = (q, beta), of prompt p, C = mean Z Z^T and b = mean y Z, the loss
is L = mean y^2 - 2 <b, Gamma> + <Gamma, C Gamma> + (lambda/d) |Gamma|^2 on the d (d + 1) weights.
With the eigenvectors v_i and eigenvalues c_i of C,

    minimum          sum_i v_i <v_i, b> / (c_i + lambda/d)
    t steps from 0   sum_i v_i <v_i, b> (1 - (1 - 2 eta (c_i + lambda/d))^t) / (c_i + lambda/d)

For lambda = 0 the terms with c_i = 0 are left out: the minimum of least norm.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.ops import linalg
from jaxtheory.theories.task_diversity import model
from jaxtheory.theories.task_diversity.model import Batch, Config, Params, Problem


class Spectrum(NamedTuple):
    """C and b in eigenvectors, those of eigenvalue 0 left out: weights_i rows_i = v_i <v_i, b>."""

    values: Float[Array, " r"]  # c_i, r = min(n, d (d + 1)); 0 where left out
    rows: Float[Array, "r p"]  # multiples of v_i, p = d (d + 1)
    weights: Float[Array, " r"]


def gradient(params: Params, batch: Batch, _problem: Problem, config: Config) -> Params:
    """The gradient of L in Gamma and gamma.

    With r = 2 (f - y) / n,

    dL/dGamma = sum_p r x beta^T + 2 (lambda/d) Gamma,  dL/dgamma = sum_p r x q + 2 (lambda/d) gamma
    """
    model.fit(params, batch, config)
    r = 2 * batch.weight * (model.output(params, batch) - batch.y)
    pulled, shrink = batch.x.T * r[None, :], 2 * model.penalty(config)
    return Params(
        pulled @ batch.beta + shrink * params.Gamma, pulled @ batch.q + shrink * params.gamma
    )


def features(batch: Batch) -> Float[Array, "n p"]:
    """Z = x h^T of each prompt as a row, h = (q, beta)."""
    h = jnp.concatenate([batch.q[:, None], batch.beta], axis=1)
    return (batch.x[:, :, None] * h[:, None, :]).reshape(len(h), -1)


def packed(row: Float[Array, " p"]) -> Params:
    """The weights of a vector of d (d + 1) numbers, in the order of `features`."""
    d = int(len(row) ** 0.5)
    G = row.reshape(d, d + 1)
    return Params(G[:, 1:], G[:, 0])


def spectrum(batch: Batch) -> Spectrum:
    """Eigenvalues and eigenvectors of C, from the smaller of the two Gram matrices."""
    root = jnp.sqrt(batch.weight)
    Z, y = root[:, None] * features(batch), root * batch.y
    wide = Z.shape[0] <= Z.shape[1]
    values, vectors = linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
    least = jnp.finfo(values.dtype).eps * max(Z.shape) * jnp.max(values)
    nonzero = values > least
    if wide:  # v_i = Z^T u_i / sqrt(c_i), <v_i, b> = sqrt(c_i) <u_i, y>
        rows, weights = vectors.T @ Z, vectors.T @ y
    else:
        rows, weights = vectors.T, vectors.T @ (Z.T @ y)
    return Spectrum(jnp.where(nonzero, values, 0), rows, jnp.where(nonzero, weights, 0))


def minimum(spectrum: Spectrum, shift: Float[Array, ""]) -> Params:
    """The minimum of L for lambda/d = shift; for 0 that of least norm."""
    inverses = linalg.quotient(spectrum.weights**0, spectrum.values + shift)
    return packed((spectrum.weights * inverses) @ spectrum.rows)


def descended(
    spectrum: Spectrum, t: Int[Array, ""] | int, shift: Float[Array, ""], config: Config
) -> Params:
    """The weights after t steps of descent from 0, for lambda/d = shift."""
    rate = spectrum.values + shift
    u = 2 * config.learning_rate * rate
    times = jnp.asarray(t, float)
    inside = jnp.where(u < 1, u, 0)
    small = -jnp.expm1(times * jnp.log1p(-inside))
    size = jnp.where(u > 1, u - 1, 1)
    sign = jnp.where(jnp.asarray(t, jnp.int32) % 2 == 0, 1.0, -1.0)
    large = 1 - jnp.where(
        u > 1, sign * jnp.exp(times * jnp.log(size)), (times == 0).astype(u.dtype)
    )
    done = jnp.where(u < 1, small, large)
    return packed((spectrum.weights * linalg.quotient(done, rate)) @ spectrum.rows)
