"""`compare_gradients` finds a wrong gradient and names the mistake where one explains all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory.verification.gradients import _finite_difference


def test_nan_in_a_gradient_is_named():
    loss = lambda w, key: jnp.sum(w**2) / 2 + 0 * jax.random.uniform(key)
    wrong = lambda w, key: jnp.sqrt(w) ** 2  # NaN for negative weights
    comparison = jaxtheory.compare_gradients(loss, wrong, np.ones(4), jax.random.key(0))
    assert not comparison.agrees and "it is not finite somewhere" in comparison.verdict


def test_kinks_are_reported_and_are_no_fault():
    X = np.random.default_rng(1).normal(size=(6, 3))
    comparison = jaxtheory.compare_gradients(
        lambda w, X: jnp.mean(jnp.maximum(0.0, X @ w)),
        lambda w, X: jnp.mean((X @ w > 0).astype(float)[:, None] * X, 0),
        np.zeros(3),
        X,
    )
    assert comparison.agrees and "3 entries at kinks" in comparison.verdict
    assert any(d.kink and d.yours == 0 and d.autodiff != 0 for d in comparison.differences)


def test_autodiff_that_is_wrong_itself_is_seen():
    comparison = jaxtheory.compare_gradients(
        lambda w: jnp.sum(jax.lax.stop_gradient(w) * w), lambda w: 1.0 * w, np.ones(4)
    )
    assert not comparison.agrees and "finite difference 2" in comparison.verdict


def test_finite_differences_are_of_fourth_order():
    value = lambda p: float(np.exp(p["x"][1]))
    slope, low, high = _finite_difference(value, {"x": np.array([0.0, 0.3])}, 0, (1,))
    assert abs(slope / np.exp(0.3) - 1) < 1e-11 and low == high == slope


SQUARE = lambda p: jnp.sum(p**2) / 2
BAD = {
    "another structure": (
        lambda p: jnp.sum(p["a"]),
        lambda p: p["a"],
        {"a": np.ones(2)},
        "structure",
    ),
    "another shape": (
        lambda p: jnp.sum(p),
        lambda p: jnp.zeros((3, 2)),
        np.ones((2, 3)),
        "shape (3, 2), params itself (2, 3): transposed?",
    ),
    "integers": (lambda p: jnp.sum(p), lambda p: p, np.arange(3), "params holds int64"),
    "no number": (lambda p: p, lambda p: p, np.ones(3), "the loss has shape (3,)"),
    "NaN": (lambda p: jnp.sum(jnp.log(p)), lambda p: 1 / p, -np.ones(3), "loss = nan at params"),
    "NaN in params": (SQUARE, lambda p: p, np.array([1, np.nan]), "params = nan at (1,)"),
    "no params": (lambda p: 1.0, lambda p: p, {}, "params holds no numbers"),
    "text": (SQUARE, lambda p: p, "abc", "params holds <U3"),
    "key": (SQUARE, lambda p: p, jax.random.key(0), "params holds key"),
    "no loss": (3, lambda p: p, np.ones(3), "loss is a int, expected a function"),
    "no gradient": (SQUARE, None, np.ones(3), "gradient is a NoneType, expected a function"),
    "loss of two": (lambda p: (SQUARE(p), 1.0), lambda p: p, np.ones(3), "expected one number"),
    "loss of nothing": (lambda p: None, lambda p: p, np.ones(3), "expected one number"),
    "integer loss": (lambda p: 3, lambda p: p, np.ones(3), "the loss is int64, expected a real"),
    "complex loss": (
        lambda p: SQUARE(p).astype(complex),
        lambda p: p,
        np.ones(3),
        "the loss is complex128",
    ),
    "text for a loss": (lambda p: "x", lambda p: p, np.ones(3), "loss: TypeError"),
    "arguments": (SQUARE, lambda p, x: p, np.ones(3), "missing 1 required positional argument"),
    "it fails": (SQUARE, lambda p: p @ np.ones(4), np.ones(3), "test_gradients.py, line"),
    "NumPy": (SQUARE, lambda p: np.asarray(p), np.ones(3), "gradient: TracerArrayConversionError"),
    "no tree": (SQUARE, lambda p: None, np.ones(3), "expected the structure of params"),
    "integer gradient": (SQUARE, lambda p: p.astype(int), np.ones(3), "params holds int64"),
    "half": (SQUARE, lambda p: p.astype(jnp.float32), np.ones(3), "holds float32, params itself"),
}
OPTIONS = {"key": (-1, "x"), "tolerance": (-1.0, np.nan, "x"), "rows": (-1, 1.5)}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case):
    loss, gradient, params, words = BAD[case]
    with pytest.raises(jaxtheory.InputError) as error:
        jaxtheory.compare_gradients(loss, gradient, params)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_out_of_range_are_refused(name):
    for value in OPTIONS[name]:
        with pytest.raises(jaxtheory.InputError, match=f"{name} = .*: must be"):
            jaxtheory.compare_gradients(SQUARE, lambda p: p, np.ones(2), **{name: value})
