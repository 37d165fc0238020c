"""The restriction to a Krylov space, against the matrix itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops.lanczos import restricted

SPECTRA = [[1.0, -1.0, 0.0], [1.0, -0.999], [0.0] * 3, [2.0, 2.0, 2.0, -3.0], [1e6, 1.0, 1e-6]]


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_as_many_rows_as_entries_have_the_spectrum(spectrum):
    n = len(spectrum)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    H = jnp.asarray(Q @ np.diag(spectrum) @ Q.T)
    V, restriction = restricted(lambda v: H @ v, jnp.zeros(n), n)
    np.testing.assert_allclose(V @ V.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(restriction, V @ H @ V.T, atol=1e-12 * max(map(abs, spectrum)))
    eigenvalues = np.linalg.eigvalsh(restriction)
    np.testing.assert_allclose(
        eigenvalues, sorted(spectrum), atol=1e-12 * max(1, *map(abs, spectrum))
    )


def test_a_few_rows_are_orthonormal_and_hold_the_largest_eigenvalue():
    H = jax.random.normal(jax.random.key(0), (200, 200))
    H = H + H.T + 50 * jnp.ones((200, 200)) / 200
    V, restriction = restricted(lambda v: H @ v, jnp.zeros(200), 30)
    np.testing.assert_allclose(V @ V.T, np.eye(30), atol=1e-12)
    np.testing.assert_allclose(restriction, V @ H @ V.T, atol=1e-10)
    largest = np.linalg.eigvalsh(H)[-1]
    assert largest * (1 - 1e-3) < np.linalg.eigvalsh(restriction)[-1] <= largest + 1e-9
