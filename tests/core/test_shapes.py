"""Arrays that fit a config and each other, with jit and without."""

from typing import Annotated, Any, NamedTuple

import chex
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, size
from jaxtheory.texts.errors import InputError


class Config(fields.Config):
    num_rows: Size = size(3, "n", "rows")
    dimension: Size = size(2, "d", "columns")


class Inner(NamedTuple):
    x: Float[Array, "samples d"]
    y: Int[Array, " samples"]
    z: Annotated[Any, Float[Array, " n"]]  # may be None
    w: Float[Array, "n+2 k"]


class Outer(NamedTuple):
    inner: Inner
    label: str


def inner(**changes):
    right = Inner(jnp.zeros((5, 2)), jnp.zeros(5, int), jnp.zeros(3), jnp.zeros((5, 7)))
    return right._replace(**changes)


WRONG = {
    "a size of the config": (
        {"x": jnp.zeros((5, 4))},
        "a.x has shape (5, 4), expected (samples, d) = (samples, 2): set dimension=4, or change",
    ),
    "another array": (
        {"y": jnp.zeros(6, int)},
        "a.y has shape (6,), expected (samples) = (5): samples = 5 in a.x",
    ),
    "rank": ({"x": jnp.zeros(5)}, "a.x has shape (5,), expected (samples, d) = (samples, 2)"),
    "a sum": (
        {"w": jnp.zeros((4, 7))},
        "a.w has shape (4, 7), expected (n+2, k) = (5, 7): n+2 = 5",
    ),
    "integers for floats": ({"x": jnp.zeros((5, 2), int)}, "a.x holds int64, expected floats"),
    "floats for integers": ({"y": jnp.zeros(5)}, "a.y holds float64, expected integers"),
    "a list": ({"y": [0, 1, 2, 3, 4]}, "a.y is a list, expected an array (samples)"),
}


def fitting(record):
    shapes.check_shapes(Config(), {"k": 7}, a=record)
    return jnp.zeros(())


class Fit(chex.TestCase):
    """Each case with jit, where shapes are known while tracing, and without."""

    @chex.variants(with_jit=True, without_jit=True)
    def test_what_fits_passes(self):
        self.variant(fitting)(inner())
        self.variant(fitting)(inner(z=None))

    @chex.variants(with_jit=True, without_jit=True)
    def test_what_does_not_fit_is_named(self):
        for what, (changes, words) in WRONG.items():
            if what != "a list":
                with pytest.raises(InputError) as error:
                    self.variant(fitting)(inner(**changes))
                assert words in str(error.value), what


@pytest.mark.parametrize(("changes", "words"), WRONG.values(), ids=WRONG)
def test_records_within_records_are_named_by_their_path(changes, words):
    with pytest.raises(InputError) as error:
        shapes.check_shapes(Config(), {"k": 7}, a=Outer(inner(**changes), "x"))
    assert words.replace("a.", "a.inner.") in str(error.value)


def test_capacities_count_and_records_do_not_share_lengths():
    config = Config(num_rows=Size(3, 2))
    shapes.check_shapes(
        config, {"k": 7}, a=inner(), b=inner(x=jnp.zeros((6, 2)), y=jnp.zeros(6, int))
    )
    shapes.check_shapes(config, a=None, b=(), c=jnp.zeros(3))
