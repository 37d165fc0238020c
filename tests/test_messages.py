"""What is said of a mistake in a theory file: one line that names file, slot, expected and got."""

import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.cli.template import Settings
from jaxtheory.core import contract
from jaxtheory.core.config import canonical

SOURCE = (Path(jaxtheory.__file__).parent / "cli" / "template.py").read_text()
STEP = "    return jax.tree.map(lambda w, g: w - config.learning_rate * g, state, slope)"
INIT = "    return Params(jnp.zeros_like(problem.mean))"
SLOPE = "    return Params(params.weights - sizes.mean(batch.inputs, config.batch_size))"
LOSS = "    return sizes.mean(jnp.sum(gaps**2, axis=1), config.batch_size) / 2"
METRIC = '    return {"error": jnp.sum((params.weights - problem.mean) ** 2)}'
CURVE = '    return {"error": left + floor * (1 - left)}'
EXAMPLE = "Settings(dimension=3, batch_size=2)"

EDITS = [
    (
        STEP,
        "    return (state.weights,)",
        "sgd'].step gives tuple(0 float32[10]), expected that of",
    ),
    (STEP, "    return Params(state.weights[:1])", "sgd'].step gives Params(weights float32[1])"),
    (STEP, "    pass", "sgd'].step gives NoneType()"),
    (
        SLOPE,
        "    return params.weights",
        "mine.gradient gives float32[10], expected that of params",
    ),
    (
        STEP,
        "    return Params(state.weights.astype('complex64'))",
        "sgd'].step gives Params(weights complex64[10])",
    ),
    (INIT, "    return Params('zero')", "mine.init gives a str as weights, expected arrays"),
    (INIT, "    return Params(jnp.zeros(config.learning_rate))", "write size.cap, not .n"),
    (INIT, "    return Params(problem.mean / config.dimension)", "a Size is no number"),
    (LOSS, "    return jnp.sum(gaps**2, axis=1)", "mine.loss gives float32[8], expected a number"),
    (METRIC, "    return params.weights", "expected a dictionary {name: array}"),
    (METRIC, '    return {"error": "small"}', "mine.metrics gives a str as error"),
    (METRIC, '    return {"error": None}', "metrics['error'] gives NoneType(), expected an array"),
    (METRIC, '    return {"step": params.weights}', "'step' is a field's or an axis' name"),
    (METRIC, "    while params.weights[0] > 0: pass", "write jnp.where"),
    (METRIC, "    return {'error': params.weights[params.weights > 0]}", "write jnp.where"),
    (CURVE, '    return {"error": left[1:]}', "predict['error'] has shape (6,) for 7 steps"),
    (CURVE, '    return {"error": left[:, None]}', "has shape (1,) at each step, the metric ()"),
    (CURVE, '    return {"eror:exact": left}', "no metric is called 'eror'; did you mean 'error'?"),
    (CURVE, "    if eta > 1: return {}", "on a traced value: write jnp.where"),
    (CURVE, '    return {"error": left + float(floor)}', "a traced value in int(), float()"),
    (CURVE, "    import numpy as np\n    return np.sqrt(left)", "write jnp, not np"),
    ('"(0, 1]"', '"positive"', "range 'positive': write an interval, such as '(0, inf)'"),
    (EXAMPLE, "Settings(dimension=3.0)", "dimension (d) = 3.0: must be an integer in [1, inf)"),
    ("Algorithm(init, step)", "step", "algorithms['sgd'] is a function, expected a jaxtheory.Algo"),
    ('"sgd": ', "1: ", "algorithms: 1 is no name"),
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
        "'error' is a metric's or an axis'",
    ),
    (
        "assumptions=lambda problem, config: {'a': 1.0}",
        "assumptions['a'] gives float32[], expected",
    ),
    ("assumptions=lambda problem, config: [True]", "expected {name: (holds, margin)}"),
    ("coords=lambda config: {'neuron': [1]}", "no dimension is called 'neuron'"),
    (MATRIX + "coords=lambda config: {'m_0': 3}", "coords['m_0'] is a int, expected labels"),
    ("dims={'eror': ('i',)}", "dims: no metric is called 'eror'; did you mean 'error'?"),
    ("dims={'error': 'i'}", "dims['error'] is 'i', expected a tuple of names, such as ('i',)"),
    (MATRIX + "dims={'m': ('i',)}", "names 1 dimensions (i) of an array of shape (2, 3)"),
    (MATRIX + "dims={'m': ('i', 'dimension')}", "'dimension' is a field's, an axis' or an array's"),
    (MATRIX + "dims={'m': ('i', 'i')}", "'i' stands twice"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(words: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    """Hold that a command ends in one line that says so."""
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert said in errors and "mine" in errors and len(errors.splitlines()) == 1


def spoilt(right: str, wrong: str) -> str:
    """The template with one line changed."""
    assert right in SOURCE
    return SOURCE.replace(right, wrong).replace('name="template"', 'name="mine"')


@pytest.mark.parametrize(("right", "wrong", "said"), EDITS, ids=[said for *_, said in EDITS])
def test_a_wrong_line_is_named(
    right: str, wrong: str, said: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(spoilt(right, wrong))
    refused(["plan", "mine.py", "--steps", "2", "--dtype", "float32"], said, capsys)


@pytest.mark.parametrize(("slots", "said"), REPLACED, ids=[said for _, said in REPLACED])
def test_a_wrong_slot_is_named(
    slots: str, said: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    text = spoilt("", "") + f"\nTHEORY = THEORY._replace({slots})\n"
    (here / "mine.py").write_text(text)
    refused(["plan", "mine.py", "--steps", "2", "--dtype", "float32"], said, capsys)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"steps": 40', '"stpes": 4', "mine.py: unknown argument 'stpes'; did you mean 'steps'?"),
        ('"steps": 40', '"seeds": 0', "mine.py: seeds = 0"),
        ("{'batch_size': [2, 8, 32]}", "{'size': [2, 8]}", "mine.py: unknown field 'size'"),
        ("config=Settings()", "config=Settings(noise=-1.0)", "mine.py: at batch_size=2: noise"),
        ("at_most=0.3", "at_mots=0.3", "claim T-1: unknown argument 'at_mots'; did you mean"),
        ("at_most=0.3", "at_most=0.3, statistic='man'", "claim T-1: statistic = 'man'; did you"),
        ("at_most=0.3", "minimum=2", "claim T-1: a claim has one bound"),
        (
            "            gap,",
            "            lambda data: 3.0,",
            "claim T-1: its measure gives a float",
        ),
        ("    return figure", "    return None", "mine.py: draw gives a NoneType"),
    ],
)
def test_a_fault_of_a_figure_is_told_with_its_file(
    right: str, wrong: str, said: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    few = spoilt('"seeds": 64', '"seeds": 8').replace('{"steps": 40}', '{"steps": 4}')
    right = right.replace("'", '"').replace('"steps": 40', '"steps": 4')
    assert right in few
    (here / "mine.py").write_text(few.replace(right, wrong))
    refused(["run", "mine.py", "--quick"], said, capsys)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("examples=(", "examples=() and (", "mine has no examples to run its checks on"),
        (EXAMPLE, "Settings(dimension=0)", "mine.examples[0]: dimension (d) = 0"),
        (CURVE, '    return {"eror": left}', "predict: no metric is called 'eror'"),
    ],
)
def test_verify_says_what_it_cannot_check(
    right: str, wrong: str, said: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(spoilt(right, wrong))
    refused(["verify", "mine.py"], said, capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--steps abc", "--steps = 'abc': 'abc' is not a number"),
        ("--steps 3,4", "takes one number; use --vary steps=3,4"),
        ("--steps 2.5", "steps = 2.5: must be an integer"),
        ("--steps 3 --set d=5 --vary d=5,6", "dimension stands in --set and on an axis"),
        ("--steps 3 --set d=5 --zip d=5,6", "dimension stands in --set and on an axis"),
        ("--steps 3 --set d=1e12", "dimension (d) = 1000000000000: must be an integer below 2^31"),
        ("--steps 3 --set B=2e9 --set d=2e9", "lower"),
        ("--steps 3 --vary eta=.1:1:100000 --vary sigma=0:1:100000", "10000000000 points"),
    ],
)
def test_a_wrong_word_is_named(
    words: str, said: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    (here / "mine.py").write_text(spoilt("", ""))
    assert main(["plan", "mine.py", *words.split()]) == 2
    errors = capsys.readouterr().err
    assert said in errors and len(errors.splitlines()) == 1


def test_a_length_is_an_integer() -> None:
    with pytest.raises(jaxtheory.InputError, match=r"dimension .* = 5.0: must be an integer"):
        Settings(dimension=5.0)


def test_modules_beside_a_file_are_its_own(here: Path) -> None:
    for name, rate in (("one", 1), ("two", 2)):
        (here / name).mkdir()
        (here / name / "beside_it.py").write_text(f"RATE = {rate}\n")
        (here / name / "mine.py").write_text("from beside_it import RATE\n")
    paths = list(sys.path)
    found = [jaxtheory.theories.load(Path(n) / "mine.py").RATE for n in ("one", "two", "one")]
    assert found == [1, 2, 1]
    (here / "one" / "beside_it.py").write_text("RATE = 345\n")
    assert jaxtheory.theories.load(here / "one" / "mine.py").RATE == 345
    assert sys.path == paths


def test_a_room_with_fewer_metrics_is_no_mistake() -> None:
    """Its dims, coords and predictions still speak of those left out."""
    for name in ("low_rank", "attention_pruning"):
        room = jaxtheory.theories.get(name)
        fewer = room._replace(
            metrics=lambda params, problem, config: {},
            analyses=lambda params, problem, config: {},
            baselines=lambda problem, config: {},
        )
        contract.require(fewer, canonical(fewer.Config(), "float64"))
