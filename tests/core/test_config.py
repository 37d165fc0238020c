"""Configs: sizes, ranges, fields by name or symbol, and leaves that share one trace."""

from pathlib import Path

import chex
import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory import (
    Config,
    InputError,
    Size,
    evaluation,
    size,
    static,
    traced,
    validate,
)
from jaxtheory.cli.template import Settings
from jaxtheory.core.config import canonical, fields
from jaxtheory.core.fields import resolve
from jaxtheory.theories import get, names


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
    with pytest.raises(InputError, match="must be at least the present"):
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
        ({"kind": np.zeros(2)}, "static: it must be a plain Python value"),
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
    assert resolve(Example, "eta") == "rate" == resolve(Example, "rate")
    assert [f.kind for f in fields(Example).values()] == [
        "size",
        "traced",
        "traced",
        "evaluation",
        "static",
        "static",
    ]
    with pytest.raises(InputError, match="did you mean 'width'"):
        resolve(Example, "widht")


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


WALK, KEY = get("random_walk"), jaxtheory.run_key(0, 0)
SMALL = WALK.Config(num_states=5, length=17)


@pytest.mark.parametrize("name", names())
def test_a_field_goes_by_word_or_symbol_everywhere(name):
    theory = get(name)
    for word, field in jaxtheory.core.config.fields(theory.Config).items():
        default = getattr(theory.Config(), word)
        by_symbol = theory.Config(**{field.symbol: default})
        assert by_symbol == theory.Config().replace(**{field.symbol: default}) == theory.Config()


def test_values_given_by_symbol_arrive():
    config = WALK.Config(K=7, p=0.25)
    assert (config.num_states.n, config.clockwise_probability) == (7, 0.25)
    assert config.replace(K=8, eta=2.0).num_states.n == 8
    assert WALK.Config(7, 33, p=0.25) == config.replace(length=33)
    assert config.pad(K=9).num_states.cap == 9
    assert jax.tree.unflatten(jax.tree.structure(config), jax.tree.leaves(config)) == config


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: WALK.Config(num_stats=6), "'num_stats'; did you mean 'num_states'?"),
        (lambda: SMALL.replace(num_stats=6), "'num_stats'; did you mean 'num_states'?"),
        (lambda: SMALL.replace(K=5, num_states=5), r"num_states \(K\): given twice"),
        (lambda: WALK.Config(6, K=5), r"num_states \(K\): given twice"),
    ],
)
def test_a_misspelt_field_is_named(made, said):
    with pytest.raises(InputError, match=said):
        made()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_length_is_an_integer() -> None:
    with pytest.raises(jaxtheory.InputError, match=r"dimension .* = 5.0: must be an integer"):
        Settings(dimension=5.0)
