"""`compare_gradients` finds a wrong gradient and names the mistake where one explains all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory.testing import Material
from jaxtheory.theories import get, names
from jaxtheory.verification.gradients import _finite_difference


def largest(tree):
    """The place of the leaf with most entries."""
    leaves = jax.tree.leaves(tree)
    return max(range(len(leaves)), key=lambda i: np.size(leaves[i]))


def changed(gradient, place, change):
    """The gradient with a change of (one leaf, that of the parameters)."""

    def wrong(params, *args):
        leaves, tree = jax.tree.flatten(gradient(params, *args))
        leaves[place] = change(leaves[place], jax.tree.leaves(params)[place])
        return jax.tree.unflatten(tree, leaves)

    return wrong


MISTAKES = {  # name -> change of a leaf of two dimensions or more, what the verdict says
    "constant": (lambda g, p: -0.5 * g, "factor -0.5"),
    "sign": (lambda g, p: -g, "the sign is wrong"),
    "half": (lambda g, p: g / 3, "factor 0.333333"),
    "transposed": (lambda g, p: jnp.swapaxes(g, -1, -2), "transposed"),
    "transposed, minus": (lambda g, p: -jnp.swapaxes(g, -1, -2), "transposed"),
    "next index": (lambda g, p: jnp.roll(g, 1, -1), "wrong index: shifted by 1 along axis"),
    "index before": (lambda g, p: jnp.roll(g, -1, 0), "wrong index: shifted by -1 along axis 0"),
    "reversed": (lambda g, p: jnp.flip(g, 0), "reversed along axis 0"),
    "no term": (lambda g, p: 0 * g, "it is zero"),
    "no decay": (lambda g, p: g - 0.2 * p, "it lacks 0.2 times the parameter"),
    "one row": (lambda g, p: g.at[0].multiply(2.0), "wrong at index 0 of axis 0"),
    "constant term": (lambda g, p: g + 1.0, "it lacks a term"),
}


def possible(shape):
    """The mistakes that a leaf of this shape can have, a number, a vector, or a (square) matrix."""
    if not shape:
        return ("constant", "sign", "half", "no term", "no decay")
    square = len(shape) > 1 and shape[-1] == shape[-2]
    return [m for m in MISTAKES if square or "transposed" not in m]


def small(key):
    """loss, params, data of a two-layer network; v is a vector, W square."""
    X, y = jax.random.normal(key, (7, 5)), jnp.sin(jnp.arange(7.0))
    W, v = jnp.eye(5) + jnp.cos(jnp.arange(25.0).reshape(5, 5)), jnp.linspace(-1, 1, 5)

    def loss(params, X, y):
        return jnp.mean(jnp.square(jnp.tanh(X @ params["W"]) @ params["v"] - y)) / 2

    return loss, {"W": W, "v": v}, (X, y)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    loss, params, data = small(jax.random.key(3))
    change, words = MISTAKES[mistake]
    found = jaxtheory.compare_gradients(loss, changed(jax.grad(loss), 0, change), params, *data)
    assert not found.agrees and words in found.verdict and "; right in v" in found.verdict
    assert found.differences[0].leaf == "W" and found.verdict.startswith("entry (")


def test_a_forgotten_mean_is_named():
    loss, params, data = small(jax.random.key(4))
    for c, words in (
        (7.0, "factor 7: 1/n is missing?"),
        (1 / 7, "factor 0.142857: 1/n is too much?"),
    ):
        wrong = changed(jax.grad(loss), 1, lambda g, p, c=c: c * g)
        verdict = jaxtheory.compare_gradients(loss, wrong, params, *data).verdict
        assert words in verdict and "n = 7 is axis 0 of X" in verdict


def test_a_softmax_jacobian_without_its_rank_one_part_is_named():
    def loss(z, y):
        return -jnp.mean(jnp.sum(jax.nn.softmax(z) * y, axis=-1))

    def gradient(z, y):  # diag(s) y in place of (diag(s) - s s^T) y
        return -jax.nn.softmax(z) * y / z.shape[0]

    y = np.random.default_rng(0).normal(size=(6, 4))
    found = jaxtheory.compare_gradients(loss, gradient, np.zeros((6, 4)), y)
    assert not found.agrees and "rank-one part of a softmax's Jacobian" in found.verdict


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_the_rooms_gradients_agree_and_wrong_ones_do_not(name):
    theory, tools = get(name), Material(get(name))
    problem, batch, params = tools.first(0)
    rest = (batch, problem, tools.config(0))
    found = jaxtheory.compare_gradients(theory.loss, theory.gradient, params, *rest)
    assert found.agrees, found
    place = largest(params)
    shape = np.shape(jax.tree.leaves(params)[place])
    for mistake in possible(shape):
        change, words = MISTAKES[mistake]
        wrong = changed(theory.gradient, place, change)
        found = jaxtheory.compare_gradients(theory.loss, wrong, params, *rest)
        assert not found.agrees and words in found.verdict, (mistake, found.verdict)


def test_nan_in_a_gradient_is_named():
    loss = lambda w, key: jnp.sum(w**2) / 2 + 0 * jax.random.uniform(key)
    wrong = lambda w, key: jnp.sqrt(w) ** 2  # NaN for negative weights
    found = jaxtheory.compare_gradients(loss, wrong, np.ones(4), jax.random.key(0))
    assert not found.agrees and "it is not finite somewhere" in found.verdict


def test_kinks_are_reported_and_are_no_fault():
    X = np.random.default_rng(1).normal(size=(6, 3))
    found = jaxtheory.compare_gradients(
        lambda w, X: jnp.mean(jnp.maximum(0.0, X @ w)),
        lambda w, X: jnp.mean((X @ w > 0).astype(float)[:, None] * X, 0),
        np.zeros(3),
        X,
    )
    assert found.agrees and "3 entries at kinks" in found.verdict
    assert any(d.kink and d.yours == 0 and d.autodiff != 0 for d in found.differences)


def test_autodiff_that_is_wrong_itself_is_seen():
    found = jaxtheory.compare_gradients(
        lambda w: jnp.sum(jax.lax.stop_gradient(w) * w), lambda w: 1.0 * w, np.ones(4)
    )
    assert not found.agrees and "finite difference 2" in found.verdict


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
