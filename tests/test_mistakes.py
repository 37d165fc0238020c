"""A slip in Python code is accepted where it is clear, or named with the way out of it."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers import worked_example

import jaxtheory
from jaxtheory import InputError
from jaxtheory.core.errors import suggest
from jaxtheory.reports import page
from jaxtheory.theories import get, names
from jaxtheory.verification import theory_gradient
from jaxtheory.verification.verify import vary_config

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


def test_steps_may_be_given_by_position():
    run = jaxtheory.simulate(WALK, SMALL, KEY, 3)
    assert run.steps.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("stop", "record", "said"),
    [
        (lambda m: m["los"] < 0.1, None, "reads the metric 'los'; did you mean 'loss'?"),
        (lambda m: m["accuracy"] < 0.1, {"loss": 1, "accuracy": [2]}, "known: loss"),
        (lambda m: m["loss"].nothing, None, r"stop\(metrics\): AttributeError"),
        (lambda m: np.array([True, False]), None, r"stop\(metrics\): ValueError"),
    ],
)
def test_a_wrong_stop_rule_is_named(stop, record, said):
    with pytest.raises(InputError, match=said):
        jaxtheory.simulate(WALK, SMALL, KEY, 3, stop=stop, record=record)


def test_a_stop_rule_is_judged_before_training(monkeypatch):
    monkeypatch.setattr("jaxtheory.engine.simulate.train_chunk", lambda *a, **k: pytest.fail())
    with pytest.raises(InputError, match="'los'"):
        jaxtheory.simulate(WALK, SMALL, KEY, 3, stop=lambda m: m["los"] < 0.1)


@pytest.mark.parametrize("name", ["seed", "seeds", "key", "record", "dtype", "start", "stop"])
def test_an_argument_is_not_an_axis(name):
    for axes in ({"vary": {name: [1, 2]}}, {"zip": {"p": [0.1, 0.2], name: [1, 2]}}):
        with pytest.raises(InputError, match=f"'{name}' cannot be an axis: .*(give|call|vary)"):
            jaxtheory.plan(WALK, SMALL, steps=2, **axes)


def test_examples_of_another_config_are_one_line():
    class Mine(WALK.Config):
        """The same fields."""

    with pytest.raises(InputError) as error:
        jaxtheory.simulate(WALK._replace(Config=Mine), Mine(), KEY, 1)
    said = str(error.value)
    assert "\n" not in said and "examples=(Mine(),)" in said
    assert said.count("random_walk.model.Config") == 1 and f"{__name__}." in said


def test_equally_close_names_are_all_told():
    with pytest.raises(InputError, match=r"did you mean 'eta1' or 'eta2'\?"):
        jaxtheory.plan(
            get("contextual_bigram"),
            get("contextual_bigram").Config(),
            steps=1,
            vary={"eta": [1.0]},
        )
    assert suggest("ab", ["xb", "abc", "xb"]) == "did you mean 'abc'?"
    assert suggest("q", ["a", "b", "a"]) == "known: a, b"


TOKENS, LABELS = np.random.default_rng(0).normal(size=(6, 4, 5)), np.arange(6) % 2
START = [np.eye(5)] * 3 + [np.ones((4, 5))]


def test_a_field_with_the_name_of_an_array_can_be_set():
    given = get("low_rank").given
    by_position = given(TOKENS, LABELS, *START, output="per_token", labels="random")
    assert by_position[2].output == "per_token" and by_position[2].labels == "random"
    by_name = dict(zip(("query", "key", "value", "output"), START, strict=True))
    assert given(TOKENS, labels=LABELS, **by_name)[2].output == "shared"
    assert given(TOKENS, LABELS, output="per_token")[2].output == "per_token"
    features = np.random.default_rng(1).normal(size=(4, 3, 2))
    config = get("group_sparse").given(features, [1, -1, 1, -1], features="uniform")[2]
    assert config.features == "uniform"
    with pytest.raises(InputError, match="labels: an array is missing"):
        given(TOKENS, output="per_token")


def test_a_field_with_the_name_of_an_array_can_be_set_beside_a_file(tmp_path, capsys):
    from jaxtheory.cli.main import main

    np.savez(
        tmp_path / "mine.npz",
        tokens=TOKENS,
        labels=LABELS,
        output=START[3],
        query=START[0],
        key=START[1],
        value=START[2],
    )
    words = ["plan", "low_rank", "--steps", "1", "--data", str(tmp_path / "mine.npz")]
    assert main([*words, "--set", "output=per_token"]) == 0
    assert main([*words, "--set", "output=nothing"]) == 2
    assert "output" in capsys.readouterr().err


def test_a_metric_with_dimensions_is_not_unknown(tmp_path, capsys):
    from jaxtheory.cli.main import main

    words = ["sweep", "attention_pruning", "--steps", "1", "--store", str(tmp_path / "s")]
    assert main([*words, "--plot", "relative_error"]) == 2
    said = capsys.readouterr().err
    assert "relative_error has the dimension pruner of its own" in said and "attention_loss" in said
    assert not (tmp_path / "s").exists()


def softmax_loss(params, X, y):
    """Attention inside: scores X W q + b of three prompts, b without effect, and a value matrix."""
    s = jax.nn.softmax(X @ params["W"] @ params["q"] + params["b"], axis=-1)
    return jnp.sum(jnp.square(jnp.einsum("nld,nl->nd", X, s) @ params["V"] - y)) / 2


def softmax_gradient(params, X, y, rank_one=1.0):
    s = jax.nn.softmax(X @ params["W"] @ params["q"], axis=-1)
    read = jnp.einsum("nld,nl->nd", X, s)
    error = read @ params["V"] - y
    g = jnp.einsum("nld,nd->nl", X, error @ params["V"].T)
    z = jnp.einsum("nl,nld->d", s * (g - rank_one * jnp.sum(s * g, -1, keepdims=True)), X)
    return {
        "W": jnp.outer(z, params["q"]),
        "q": params["W"].T @ z,
        "V": read.T @ error,
        "b": jnp.zeros(()),
    }


@pytest.mark.parametrize(
    ("rank_one", "said"),
    [(0.0, r"s s\^T.*\) is missing"), (-1.0, r"s s\^T.*\) has the wrong sign")],
)
def test_the_rank_one_part_of_a_softmax_is_named_wherever_it_is(rank_one, said):
    random = np.random.default_rng(3)
    shapes = {"W": (4, 4), "q": (4,), "V": (4, 2), "b": ()}
    params = {name: random.normal(size=shape) for name, shape in shapes.items()}
    data = random.normal(size=(3, 6, 4)), random.normal(size=(3, 2))
    wrong = lambda *args: softmax_gradient(*args, rank_one=rank_one)
    assert jaxtheory.compare_gradients(softmax_loss, softmax_gradient, params, *data).agrees
    found = jaxtheory.compare_gradients(softmax_loss, wrong, params, *data)
    assert not found.agrees
    assert re.search(said, found.verdict), found.verdict
    assert "the rank-one part of a softmax's Jacobian" in found.verdict
    assert re.search("in all of (W and q|q and W); right in V, b", found.verdict)


def without_effect(params, batch, problem, config):
    """A loss that no parameter changes: autodiff is zero up to rounding."""
    return jnp.sum(jax.nn.softmax(params.weights)) * 7


@pytest.mark.parametrize(("closed", "agrees"), [(0.0, True), (1e-12, False)])
def test_a_gradient_that_is_zero_is_so_up_to_rounding(closed, agrees):
    gradient = lambda params, *rest: jax.tree.map(lambda w: jnp.full_like(w, closed), params)
    theory = worked_example.THEORY._replace(loss=without_effect, gradient=gradient, checks=())
    varied = vary_config(theory, theory.Config(dimension=3), 0, 3, np.float64)
    found = theory_gradient.compare(theory, varied)
    assert found.agrees == agrees == (found.error <= theory_gradient.TOLERANCE)


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ({"at_least": 2.5}, "p = 0.3, K = 6"),
        ({"at_least": 2.5, "where": "somewhere"}, "p = 0.7, K = 5"),
        ({"at_least": 0.0, "statistic": "each"}, "p = 0.3, K = 6, seed = 4"),
        ({"at_least": 2.5, "where": "together"}, ""),
    ],
)
def test_a_verdict_says_at_which_values_it_was_decided(options, at):
    values = xr.DataArray(
        [[[3.0, 4.0], [2.0, 1.0]], [[8.0, 9.0], [np.nan, np.nan]]],
        coords={"p": [0.3, 0.7], "K": [5, 6], "seed": [2, 4]},
        dims=("p", "K", "seed"),
    )
    assert jaxtheory.verdict(values, **options).at == at
    assert jaxtheory.verdict(values.isel(p=0, K=0), at_least=1.0).at == ""
    number = page.number({"measured": 1.5, "error": None, "n": 2, "at": at})
    assert number == ("1.5 at " + at if at else "1.5")
