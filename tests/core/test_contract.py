"""A mistake in a slot of a theory gives one line with file, slot, expected and got."""

import functools
from pathlib import Path

import optax
import pytest
from helpers.spoilt import EXAMPLE, refused, spoilt

import jaxtheory
from jaxtheory.core import contract
from jaxtheory.core.config import canonical
from jaxtheory.core.contract import ships
from jaxtheory.core.from_optax import standard
from jaxtheory.theories import get


def test_a_room_with_a_function_from_outside_is_not_trusted():
    room = get("low_rank")
    assert ships(room)
    assert not ships(room._replace(loss=lambda params, batch, problem, config: 0.0))
    for rule in (lambda config: optax.sgd(config.learning_rate), functools.partial(optax.sgd, 0.1)):
        own = {"own": jaxtheory.from_optax(room, rule)}
        assert not ships(room._replace(algorithms=room.algorithms | own))
    loose = standard(room.init, lambda params, batch, problem, config: params)
    assert not ships(room._replace(algorithms=room.algorithms | loose))
    for name, entry in jaxtheory.figures.entries().items():
        theory = jaxtheory.figures.get(name).theory
        assert theory is None or ships(theory) or entry.theory == "networks", name


STEP = "    return jax.tree.map(lambda w, g: w - config.learning_rate * g, state, slope)"


INIT = "    return Params(jnp.zeros_like(problem.mean))"


SLOPE = "    return Params(params.weights - sizes.mean(batch.inputs, config.batch_size))"


LOSS = "    return sizes.mean(jnp.sum(gaps**2, axis=1), config.batch_size) / 2"


METRIC = '    return {"error": jnp.sum((params.weights - problem.mean) ** 2)}'


CURVE = '    return {"error": decay + floor * (1 - decay)}'


EDITS = [
    (
        STEP,
        "    return (state.weights,)",
        "sgd'].step returns tuple(0 float32[10]), expected that of",
    ),
    (STEP, "    return Params(state.weights[:1])", "sgd'].step returns Params(weights float32[1])"),
    (STEP, "    pass", "sgd'].step returns NoneType()"),
    (
        SLOPE,
        "    return Params(jnp.zeros(10, jax.dtypes.float0))",
        "mine.gradient returns float0 as weights, which JAX gives for integers; integers are not",
    ),
    (
        SLOPE,
        "    return params.weights",
        "mine.gradient returns float32[10], expected that of params",
    ),
    (
        STEP,
        "    return Params(state.weights.astype('complex64'))",
        "sgd'].step returns Params(weights complex64[10])",
    ),
    (INIT, "    return Params('zero')", "mine.init returns a str as weights, expected arrays"),
    (INIT, "    return Params(jnp.zeros(config.learning_rate))", "write size.cap, not .n"),
    (
        INIT,
        "    return Params(problem.mean / config.dimension)",
        "a Size cannot be used",
    ),
    (
        LOSS,
        "    return jnp.sum(gaps**2, axis=1)",
        "mine.loss returns float32[8], expected a number",
    ),
    (METRIC, "    return params.weights", "expected a dictionary {name: array}"),
    (METRIC, '    return {"error": "small"}', "mine.metrics returns a str as error"),
    (
        METRIC,
        '    return {"error": None}',
        "metrics['error'] returns NoneType(), expected an array",
    ),
    (METRIC, '    return {"step": params.weights}', "'step' is the name of a field or an axis"),
    *(
        (METRIC, f'    return {{"{name}": params.weights}}', f"{name!r} is a method of datasets")
        for name in ("map", "rank", "mean")
    ),
    *(
        (METRIC, f"    return {{{name!r}: params.weights[0]}}", said)
        for name, said in [
            ("a/b", "mine.metrics: 'a/b': must not contain '/'"),
            ("", "'': must not be empty"),
            ("..", "'..': must not begin with '.'"),
            ("a\x1b[2J", "must not contain the control character '\\x1b'"),
            ("a\ud800", "must not contain the control character '\\ud800'"),
            ("a:b", "must not contain ':'"),
            ("x" * 300, "has 300 bytes"),
            ("zarr.json", "is the name of a file of every dataset"),
            (5, "5 is a int, expected a name"),
        ]
    ),
    (CURVE, '    return {"error:a/b": decay}', "mine.predict: 'error:a/b': must not contain '/'"),
    (CURVE, '    return {"error:\\x1b": decay}', "must not contain the control character"),
    (
        CURVE,
        '    return {"error": decay, "error:": decay}',
        "would be named 'predicted_error'",
    ),
    (METRIC, "    while params.weights[0] > 0: pass", "write jnp.where"),
    (METRIC, "    return {'error': params.weights[params.weights > 0]}", "write jnp.where"),
    (CURVE, '    return {"error": decay[1:]}', "predict['error'] has shape (6,) for 7 steps"),
    (
        CURVE,
        '    return {"error": decay[:, None]}',
        "has shape (1,) at each step, but the metric has shape ()",
    ),
    (
        CURVE,
        '    return {"eror:exact": decay}',
        "no metric is called 'eror'; did you mean 'error'?",
    ),
    (CURVE, "    if eta > 1: return {}", "on a traced value: write jnp.where"),
    (CURVE, '    return {"error": decay + float(floor)}', "a traced value in int(), float()"),
    (CURVE, "    import numpy as np\n    return np.sqrt(decay)", "write jnp, not np"),
    ('"(0, 1]"', '"positive"', "range 'positive': write an interval, such as '(0, inf)'"),
    (EXAMPLE, "Settings(dimension=3.0)", "dimension (d) = 3.0: must be an integer in [1, inf)"),
    ("Algorithm(init, step)", "step", "algorithms['sgd'] is a function, expected a jaxtheory.Algo"),
    ('"sgd": ', "1: ", "algorithms: names must be strings, got 1"),
    ("error_by_recursion)", "error_by_recursion, 'small')", "tolerance is 'small', expected a num"),
]


MATRIX = "metrics=lambda params, problem, config: {'m': jnp.zeros((2, 3))}, "


MATRIX += "predict=lambda problem, config, steps: {}, "


REPLACED = [
    ("baselines=lambda problem, config: [1.0]", "expected a dictionary {name: array}"),
    ("baselines=lambda problem, config: {'eror': 1.0}", "baselines: no metric is called 'eror'"),
    ("baselines=lambda problem, config: {'error': jnp.ones(2)}", "it is appended to error"),
    (
        "analyses=lambda params, problem, config: {'error': 1.0}",
        "'error' is the name of a metric",
    ),
    (
        "assumptions=lambda problem, config: {'a': 1.0}",
        "assumptions['a'] returns float32[], expected",
    ),
    ("assumptions=lambda problem, config: [True]", "expected {name: (holds, margin)}"),
    ("coords=lambda config: {'neuron': [1]}", "no dimension is called 'neuron'"),
    (MATRIX + "coords=lambda config: {'m_0': 3}", "coords['m_0'] is a int, expected labels"),
    ("dims={'eror': ('i',)}", "dims: no metric is called 'eror'; did you mean 'error'?"),
    ("dims={'error': 'i'}", "dims['error'] is 'i', expected a tuple of names, such as ('i',)"),
    (MATRIX + "dims={'m': ('i',)}", "names 1 dimensions (i) of an array of shape (2, 3)"),
    (
        MATRIX + "dims={'m': ('i', 'dimension')}",
        "'dimension' is the name of a field, an axis or an array",
    ),
    (MATRIX + "dims={'m': ('i', 'i')}", "'i' occurs twice"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("right", "wrong", "message"), EDITS, ids=[message for *_, message in EDITS]
)
def test_a_wrong_line_is_named(
    right: str, wrong: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(spoilt(right, wrong))
    refused(["plan", "mine.py", "--steps", "2", "--dtype", "float32"], message, capsys)


@pytest.mark.parametrize(("slots", "message"), REPLACED, ids=[message for _, message in REPLACED])
def test_a_wrong_slot_is_named(
    slots: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    text = spoilt("", "") + f"\nTHEORY = THEORY._replace({slots})\n"
    (folder / "mine.py").write_text(text)
    refused(["plan", "mine.py", "--steps", "2", "--dtype", "float32"], message, capsys)


def test_a_room_with_fewer_metrics_is_no_mistake() -> None:
    """Its dims, coords and predictions still speak of those left out."""
    for name in ("low_rank", "attention_pruning"):
        room = jaxtheory.theories.get(name)
        fewer = room._replace(
            metrics=lambda params, problem, config: {},
            analyses=lambda params, problem, config: {},
            baselines=lambda problem, config: {},
        )
        contract.require_contract(fewer, canonical(fewer.Config(), "float64"))
