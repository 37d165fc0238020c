"""The hash of code distinguishes values of every kind."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from beartype import beartype
from helpers.worked_example import EXAMPLE, THEORY
from jaxtyping import Array, Float, jaxtyped

import jaxtheory
from jaxtheory.code.code_hash import code_hash, functions
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import fingerprint, identity

OPTIONS = {"steps": 4, "dtype": "float64"}


def name_of(theory=THEORY, **options):
    return fingerprint(identity(read(theory, theory.Config(), **{**OPTIONS, **options})))


def test_values_of_every_kind_are_told_apart():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return self.factor * x

    def makers(a):
        constant = a
        return [
            lambda: constant,
            functools.partial(jnp.add, a),
            Scaled(a),
            Scaled(a).__call__,
            jax.jit(lambda x: constant * x),
            jax.vmap(lambda x: constant * x),
            np.full(3, a),
            jnp.full(3, a),
            {"a": [a]},
            jax.custom_jvp(lambda x: constant * x),
        ]

    for one, same, variant in zip(makers(1.0), makers(1.0), makers(2.0), strict=True):
        assert code_hash(one) == code_hash(same) != code_hash(variant)


def test_what_was_seen_before_still_counts_in_its_place():
    one, two = (lambda x: x), (lambda x: 2 * x)
    assert code_hash((one, two, one)) != code_hash((one, two, two))
    assert code_hash({"a": one, "b": two, "c": one}) != code_hash({"a": one, "b": two, "c": two})
    assert code_hash({one, two}) == code_hash({two, one}) != code_hash({one})
    loop: list = [one]
    loop.append(loop)
    assert code_hash(loop) == code_hash(loop)


def test_checks_of_annotations_do_not_count():
    """Their wrappers have addresses in their names, which are others in each process."""

    def scaled(x: Float[Array, " n"], by: float = 2.0) -> Float[Array, " n"]:
        return by * x

    checked = jaxtyped(typechecker=beartype)(scaled)
    assert checked is not scaled and code_hash(checked) == code_hash(scaled)
    assert code_hash(beartype(scaled)) == code_hash(scaled)
    scaled.__defaults__ = (3.0,)
    assert code_hash(checked) == code_hash(scaled) != code_hash(jax.jit(scaled))


def test_a_checked_function_of_a_library_counts_by_its_name():
    """As here, where annotations of jaxtheory.ops are executed, and in a process without that."""
    from jaxtheory.ops import linalg

    assert linalg.svd.__wrapped__ is not linalg.svd and len(functions((linalg.svd,))) == 0


PLACED = """
import functools, os
from pathlib import Path
HERE = Path(__file__).parent
TEXT = os.path.join(os.path.dirname(__file__), "rates.txt")
ABOVE = Path(__file__).resolve().parents[1] / "rates.txt"

@functools.wraps(print)
def scale(x):
    return 2.0 * x

def read(params, problem, config):
    places = (HERE / "rates.txt", TEXT, __file__, ABOVE)
    return {"loss": scale(params.weights).sum() + 0 * len(places)}

THEORY = THEORY._replace(metrics=read, dims={}, predict=lambda problem, config, steps: {})
"""


def placed(folder, change=("", "")):
    """The worked example in a file that knows where it lies."""
    folder.mkdir()
    text = (EXAMPLE.read_text(encoding="utf-8") + PLACED).replace(*change)
    (folder / "placed.py").write_text(text, encoding="utf-8")
    return jaxtheory.theories.load(folder / "placed.py").THEORY


def test_a_file_may_lie_anywhere(tmp_path):
    first = name_of(placed(tmp_path / "a"))
    assert name_of(placed(tmp_path / "b")) == first
    assert name_of(placed(tmp_path / "c", ("2.0 * x", "3.0 * x"))) != first  # not print's code
    assert name_of(placed(tmp_path / "d", ('"rates.txt")', '"other.txt")'))) != first


def test_functions_on_one_line_are_told_apart():
    one, two = (lambda x: x + 1), (lambda x: x + 2)
    assert code_hash(one) != code_hash(two)
    assert code_hash({"a", "b"}) == code_hash({"b", "a"})


def test_numbers_of_thousands_of_digits_count():
    huge = 10**5000
    assert code_hash([huge]) == code_hash([10**5000]) != code_hash([huge + 1])
    assert code_hash((huge, 1)) != code_hash((huge + 1, 1))
    assert code_hash({"a": huge}) != code_hash({"a": huge + 1})
