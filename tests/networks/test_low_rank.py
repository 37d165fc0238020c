"""Matrices that are cut to a rank."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.parent_head import CONFIG, PARAMS, PROBLEM, THEORY, N

from jaxtheory import InputError, networks


def test_a_matrix_of_rank_n_is_kept_by_a_cut_to_n_and_no_lower():
    kept = networks.cut(PARAMS, "params/attention_0/query/kernel", N - 1 + 16)
    np.testing.assert_allclose(
        kept["params"]["attention_0"]["query"]["kernel"],
        PARAMS["params"]["attention_0"]["query"]["kernel"],
        atol=1e-4,
    )
    none = networks.cut(PARAMS, "*/query/kernel", 0)
    assert THEORY.metrics(none, PROBLEM, CONFIG)["parent_attention"] == pytest.approx(1 / N)
    key = lambda params: params["params"]["attention_0"]["key"]["kernel"]
    assert key(none) is key(PARAMS)


def test_an_update_is_cut_and_the_start_stays():
    random = np.random.default_rng(0)
    start = {"W": jnp.asarray(random.normal(size=(5, 4)))}
    update = np.outer(random.normal(size=5), random.normal(size=4))
    small = 1e-3 * random.normal(size=(5, 4))
    cut = networks.cut({"W": start["W"] + update + small}, "W", 1, start=start)["W"] - start["W"]
    u, s, v = np.linalg.svd(update + small)
    np.testing.assert_allclose(cut, s[0] * np.outer(u[:, 0], v[0]), atol=1e-5)


def test_what_cannot_be_cut_is_said():
    for matrices, rank, words in (
        ("*/kernels", 1, r"matrices = '\*/kernels': fits none of"),
        ("*/bias", 1, r"and is not a matrix"),
        ("*", -1, r"rank = -1: must be 0 or more"),
    ):
        with pytest.raises(InputError, match=words):
            networks.cut(PARAMS, matrices, rank)
