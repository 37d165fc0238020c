import chex
import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import (
    Config,
    InputError,
    Size,
    draws,
    evaluation,
    linalg,
    size,
    sizes,
    static,
    traced,
    validate,
)
from jaxtheory.core.config import _resolve, canonical, fields
from jaxtheory.ops import attention


class Example(Config):
    """A config with a field of each kind."""

    width: Size | int = size(4, "d", "width", "[2, inf)")
    rate: float = traced(0.1, "eta", "step size", "(0, 1]")
    count: int = traced(3, "k", "a whole number", "[1, 9]")
    cut: float = evaluation(0.0, "rho", "threshold", "[0, 1)")
    kind: str = static("a", "kind", "variant", ("a", "b"))
    flag: bool = static(False, "flag", "switch", (False, True))


def test_sizes_wrap_fold_and_pad():
    config = Example(width=5)
    assert config.width == Size(5) and config.width.n == 5 and len(jax.tree.leaves(config)) == 3
    padded = config.pad(d=8)
    assert (
        padded.width.cap == 8
        and padded.width.n == 5
        and padded.width.mask().tolist() == [True] * 5 + [False] * 3
    )
    assert padded.pad(width=8) == padded and len(jax.tree.leaves(padded)) == 4
    jax.jit(lambda c: c.width.n + 1)(padded)  # tracers pass through __post_init__
    with pytest.raises(InputError, match="below the present"):
        padded.pad(width=6)
    with pytest.raises(InputError, match="only sizes"):
        config.pad(rate=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 1}, r"width \(d\) = 1: must be an integer in \[2, inf\)"),
        ({"rate": 0.0}, r"rate \(eta\) = 0.0: must be a number in \(0, 1\]"),
        ({"rate": float("nan")}, "= nan"),
        ({"rate": "fast"}, "must be a number"),
        ({"count": 2.5}, "must be an integer"),
        ({"cut": 1.0}, r"in \[0, 1\)"),
        ({"kind": "c"}, "choose one of 'a', 'b'"),
        ({"kind": np.zeros(2)}, "static and takes a plain Python value"),
        ({"flag": 1}, "choose one of False, True"),
        ({"width": Size(4, 6)}, "exceeds its capacity"),
    ],
)
def test_validate_names_field_value_and_range(change, message):
    with pytest.raises(InputError, match=message):
        validate(Example(**change))


def test_validate_lists_every_violation_and_passes_good_configs():
    validate(Example())
    validate(Example(rate=1.0, width=2))
    with pytest.raises(InputError) as error:
        validate(Example(rate=2.0, cut=-1.0))
    assert len(str(error.value).splitlines()) == 2


def test_fields_by_word_or_symbol():
    assert _resolve(Example, "eta") == "rate" == _resolve(Example, "rate")
    assert [f.kind for f in fields(Example).values()] == [
        "size",
        "traced",
        "traced",
        "evaluation",
        "static",
        "static",
    ]
    with pytest.raises(InputError, match="did you mean 'width'"):
        _resolve(Example, "widht")


def test_a_class_that_cloudpickle_has_loaded_here_can_be_derived_from():
    class Mine(Config):
        steps: int = traced(3, "s", "steps", "[1, inf)")
        rate: float = traced(0.5, "r", "rate", "(0, inf)")

    cloudpickle.loads(cloudpickle.dumps(Mine))

    class More(Mine):
        other: float = traced(2.0, "o", "another", "[0, inf)")

    assert (More().steps, More().rate, More().other) == (3, 0.5, 2.0)


def test_canonical_leaves_share_one_trace():
    f = jax.jit(chex.assert_max_traces(lambda c: c.rate * 2, n=1))
    for rate in (1, 1.0, np.float32(1), jnp.float64(1)):
        f(canonical(Example(rate=rate), np.float64))


DRAWS = {
    "normal": draws.normal,
    "uniform": draws.uniform,
    "bernoulli": lambda key, *axes: draws.bernoulli(key, 0.3, *axes),
    "integers": lambda key, *axes: draws.integers(key, 7, *axes),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_draws_do_not_depend_on_capacities(draw):
    key = draws.run_key(3, 1)
    plain = draw(key, Size(2), Size(3), 4)
    for caps in ((5, 3), (2, 9), (7, 8)):
        padded = np.asarray(draw(key, Size(caps[0], 2), Size(caps[1], 3), 4))
        np.testing.assert_array_equal(padded[:2, :3], plain)
        assert not padded[2:].any() and not padded[:, 3:].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_scaled_draws_do_not_depend_on_capacities(dtype, level):
    """XLA merges a factor with the sqrt 2 of a normal draw where no mask stands between them."""
    options = {"xla_backend_optimization_level": level}
    scaled = lambda key, s, n: s * draws.normal(key, n, Size(3))
    compiled = jax.jit(scaled, compiler_options=options)
    with jax.enable_x64(dtype == "float64"):
        for scale in (0.72916667, 1.1458333, 0.00073, 3.0):
            args = draws.run_key(5, 1), jnp.asarray(scale, dtype)
            want = np.asarray(compiled(*args, Size(7)))
            assert want.dtype == dtype
            np.testing.assert_array_equal(np.asarray(compiled(*args, Size(11, 7)))[:7], want)


def test_draws_have_their_laws():
    key = draws.run_key(0, 0)
    assert not draws.bernoulli(key, 0.0, 1000).any() and draws.bernoulli(key, 1.0, 1000).all()
    share = float(draws.bernoulli(key, 0.3, 40000).mean())
    assert abs(share - 0.3) < 5 * (0.21 / 40000) ** 0.5
    counts = np.bincount(draws.integers(key, jnp.int32(5), 50000), minlength=5) / 50000
    assert np.abs(counts - 0.2).max() < 5 * (0.16 / 50000) ** 0.5
    chosen = draws.distinct(key, Size(9, 6), 4)
    assert len(set(chosen.tolist())) == 4 and chosen.max() < 6
    np.testing.assert_array_equal(chosen, draws.distinct(key, 6, 4))


def test_run_key_is_the_key_scheme():
    assert draws.run_key(2, 5) == jax.random.fold_in(jax.random.key(2, impl="threefry2x32"), 5)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_masked_softmax_and_its_derivative(scale):
    z = scale * jax.random.normal(jax.random.key(0), (3, 5))
    mask = jnp.tril(jnp.ones((3, 5), bool), 1)
    s = attention.softmax(z, mask)
    with np.errstate(under="ignore"):
        top = np.max(np.where(mask, z, -np.inf), axis=1, keepdims=True)
        weights = np.where(mask, np.exp(np.where(mask, z, top) - top), 0)
    np.testing.assert_allclose(s, weights / weights.sum(1, keepdims=True), rtol=1e-13)
    g = jax.random.normal(jax.random.key(1), (3, 5))
    _, pull = jax.vjp(lambda z: attention.softmax(z, mask), z)
    np.testing.assert_allclose(attention.softmax_vjp(s, g), pull(g)[0], atol=1e-14)
    _, push = jax.jvp(lambda z: attention.softmax(z, mask), (z,), (g,))
    np.testing.assert_allclose(attention.softmax_vjp(s, g), push, atol=1e-14)
    np.testing.assert_allclose(attention.softmax_vjp(s.T, g.T, axis=0).T, push, atol=1e-14)


def test_softmax_at_degenerate_points():
    empty = attention.softmax(jnp.zeros((2, 3)), jnp.array([[True, False, False], [False] * 3]))
    np.testing.assert_array_equal(empty, [[1, 0, 0], [0, 0, 0]])
    gradient = jax.grad(lambda z: attention.softmax(z, jnp.array([False, True, True]))[1])(
        jnp.array([1e300, 0.0, 0.0])
    )
    np.testing.assert_allclose(gradient, [0, 0.25, -0.25])
    nothing = jax.jacobian(lambda z: attention.softmax(z, jnp.zeros(3, bool)))(jnp.ones(3))
    np.testing.assert_array_equal(nothing, np.zeros((3, 3)))
    far = attention.softmax(jnp.array([-1e307, -1e308, 0]), jnp.array([True, True, False]))
    np.testing.assert_array_equal(far, [1, 0, 0])
    assert np.isnan(attention.softmax(jnp.array([np.inf, 0.0]))).any()


def test_linear_algebra():
    a = jax.random.normal(jax.random.key(0), (5, 4))
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    for r in (0, 1, 4):
        np.testing.assert_allclose(
            linalg.truncate(a, jnp.int32(r)), (u[:, :r] * s[:r]) @ vt[:r], atol=1e-13
        )
    assert linalg.direction_error(a, 3 * a) < 1e-15 and linalg.direction_error(
        a, -a
    ) == pytest.approx(2)
    assert (
        linalg.direction_error(jnp.zeros((5, 4)), a) == pytest.approx(1)
        and not linalg.unit(jnp.zeros(3)).any()
    )


def test_sums_means_and_identities_ignore_padding():
    plain, wide = (Size(3), Size(2)), (Size(5, 3), Size(4, 2))
    values = jnp.arange(6.0).reshape(3, 2)
    padded = jnp.full((5, 4), 7.0).at[:3, :2].set(values)  # garbage beyond the sizes
    assert sizes.total(values, *plain) == sizes.total(padded, *wide) == 15
    assert sizes.mean(values, *plain) == sizes.mean(padded, *wide) == 2.5
    np.testing.assert_array_equal(sizes.mean(padded, wide[0])[:2], [2.0, 3.0])
    np.testing.assert_array_equal(sizes.eye(wide[1]), np.diag([1.0, 1, 0, 0]))
    np.testing.assert_array_equal(jax.jit(lambda n: sizes.eye(Size(4, n)))(2), sizes.eye(wide[1]))
