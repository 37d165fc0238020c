"""`jaxtheory.testing`: the contract as pytest parameters, here of the template of `new`."""

import shutil
import site
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory import draws, testing
from jaxtheory.cli.templates import template

PACKAGE = Path(__file__).with_name("package")


def half_gradient(params, batch, problem, config):
    right = params.weights - jnp.sum(batch.inputs, 0) / config.batch_size.real
    return template.Params(right / 2)


@testing.parametrize_with_checks(
    template.THEORY,
    mutations={"half the gradient": (template, "gradient", half_gradient)},
    derived=("mean", "inputs"),  # a normalized vector, and what is added to it
)
def test_the_template(check):
    check()


def select_cases(theory, word):
    """The cases of a theory whose names begin so."""
    return [case for case in testing.cases(theory, derived=()) if case.name.startswith(word)]


def mean_over_the_capacity(params, batch, problem, config):
    return jnp.mean(jnp.square(params.weights[None, :] - batch.inputs)) * config.dimension.cap / 2


def in_a_tuple(params, batch, problem, config):
    return tuple(template.gradient(params, batch, problem, config))


def by_the_capacity(key, config):
    return template.Problem(draws.normal(key, config.dimension) / config.dimension.cap)


def last_bits(key, config):
    drawn = draws.normal(key, config.dimension)
    return template.Problem(drawn * (1 + 1e-15 * config.dimension.cap))


def one_beyond(key, config):
    drawn = draws.normal(key, config.dimension)
    return template.Problem(jnp.where(config.dimension.mask(), drawn, 1.0))


def without_margin(problem, config):
    return {"small steps": (config.learning_rate < 1, jnp.nan)}


WRONG = {  # case -> changes of the template that it catches
    "gradient is autodiff's": {"gradient": half_gradient},
    "gradient in float32": {"gradient": half_gradient},
    "gradient is autodiff's, example": {"gradient": in_a_tuple},
    "draws under padding": {"problem": by_the_capacity},
    "draws under padding, example": {"problem": last_bits},
    "draws under padding, example 0": {"problem": one_beyond},
    "assumptions have margins": {"assumptions": without_margin},
    "padding": {"loss": mean_over_the_capacity},
    "dimensions match": {"dims": {"error": ("coordinate",)}},
    "names are not xarray's": {"dims": {"error": ("rank",)}},
    "conforms": {"examples": ()},
    "a vmapped run is the run alone": {
        "metrics": lambda params, problem, config: {"n": jnp.asarray(config.dimension.cap, float)}
    },
}


@pytest.mark.parametrize("word", WRONG)
def test_what_is_wrong_is_caught(word):
    broken = template.THEORY._replace(**WRONG[word])
    first = select_cases(broken, word)[0]
    with pytest.raises((AssertionError, jaxtheory.InputError)):
        first()


def test_a_mutation_that_no_check_notices_is_reported():
    mutations = {"nothing": (template, "gradient", template.gradient)}
    (case,) = [
        c for c in testing.cases(template.THEORY, mutations=mutations) if "notices" in c.name
    ]
    with pytest.raises(AssertionError, match="no check notices this gradient"):
        case()


@pytest.mark.parametrize(
    ("theory", "options", "words"),
    [
        (None, {}, "THEORY is a NoneType, expected a jaxtheory"),
        ("low_rank", {}, "THEORY is a str, expected a jaxtheory"),
        (template, {}, "THEORY is a module, expected a jaxtheory"),
        (template.THEORY._replace(init=3), {}, "init is a int, expected a function"),
        (template.THEORY, {"mutations": 3}, "mutations is a int, expected a dict"),
        (template.THEORY, {"mutations": {"x": half_gradient}}, r"mutations\['x'\]: expected"),
        (
            template.THEORY,
            {"mutations": {"x": (template, "nothing", half_gradient)}},
            "has no function 'nothing'",
        ),
    ],
)
def test_what_is_no_theory_is_refused(theory, options, words):
    with pytest.raises(jaxtheory.InputError, match=words) as error:
        testing.parametrize_with_checks(theory, **options)
    assert "\n" not in str(error.value)


def test_assert_gradient_shows_the_table():
    loss = lambda w: jnp.sum(w**2) / 2
    testing.assert_gradient(loss, lambda w: w, np.ones(3))
    with pytest.raises(AssertionError, match="factor 2, in all of params"):
        testing.assert_gradient(loss, lambda w: 2 * w, np.ones(3))


@pytest.mark.slow
def test_a_package_in_a_fresh_environment(tmp_path):
    """Installed there, its theory is listed, and its tests, which are the contract, pass."""
    environment = tmp_path / "env"
    run = lambda *words: subprocess.run(words, capture_output=True, text=True, check=False)
    assert run(sys.executable, "-m", "venv", str(environment)).returncode == 0
    python = str(environment / "bin" / "python")
    (own,) = (environment / "lib").glob("python*/site-packages")
    # what jaxtheory needs is not installed a second time
    shared = [*site.getsitepackages(), str(Path(jaxtheory.__file__).parents[1])]
    (own / "shared.pth").write_text("\n".join(shared) + "\n")
    done = run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(PACKAGE))
    assert done.returncode == 0, done.stderr[-2000:]
    listed = run(python, "-m", "jaxtheory", "list")
    assert "strangers-quadratic" in listed.stdout, listed
    assert "gradient descent fall into a bowl?" in " ".join(listed.stdout.split())
    own_tests = shutil.copy(PACKAGE / "test_quadratic.py", tmp_path)  # away from our conftest
    tested = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(own_tests))
    assert tested.returncode == 0 and " passed" in tested.stdout, tested.stdout[-3000:]
