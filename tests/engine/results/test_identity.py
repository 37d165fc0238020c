"""Identity of a request: everything that changes numbers counts, and nothing else."""

import functools
import textwrap

import jax
import jax.numpy as jnp
import pytest
from helpers.worked_example import EXAMPLE, THEORY, Config

import jaxtheory
from jaxtheory import InputError, sweep
from jaxtheory.code.plain import as_json
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import fingerprint, identity
from jaxtheory.theories import names

OPTIONS = {"steps": 4, "dtype": "float64"}


def name_of(theory=THEORY, **options):
    return fingerprint(identity(read(theory, theory.Config(), **{**OPTIONS, **options})))


def with_step(step):
    """The worked example with another step."""
    algorithm = THEORY.algorithms["sgd"]
    return THEORY._replace(algorithms={"sgd": algorithm._replace(step=step(algorithm.step))})


def scaled(factor):
    """A step whose learning rate is multiplied by what the function closes over."""

    def change(step):
        return lambda key, t, state, batch, problem, config: step(
            key,
            t,
            state,
            batch,
            problem,
            config.replace(learning_rate=factor * config.learning_rate),
        )

    return change


def test_an_edited_theory_of_the_same_name_is_refused_in_one_line(tmp_path):
    first = sweep(with_step(scaled(1.0)), Config(), store=tmp_path / "run", **OPTIONS)
    again = sweep(with_step(scaled(1.0)), Config(), store=tmp_path / "run", **OPTIONS)
    assert again.identical(first)
    with pytest.raises(
        InputError,
        match=r"the code of linear_regression has changed since \(algorithm sgd\); choose another",
    ) as error:
        sweep(with_step(scaled(0.5)), Config(), store=tmp_path / "run", **OPTIONS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "slot", ["problem", "sample", "metrics", "analyses", "baselines", "predict", "coords"]
)
def test_every_slot_that_is_computed_counts(slot):
    old = getattr(THEORY, slot)
    changed = THEORY._replace(**{slot: functools.wraps(old)(lambda *args: old(*args))})
    assert name_of(changed) != name_of()


def test_what_is_not_computed_does_not_count():
    variant = THEORY._replace(
        checks=(),
        examples=(),
        assumptions=lambda problem, config: {},
    )
    assert name_of(variant) == name_of()


HELPER = (
    "FACTOR = {factor}  # {comment}\n\ndef scale(x):\n    '''{comment}'''\n    return FACTOR * x\n"
)


def write_theory(folder, factor, comment, monkeypatch):
    """The worked example in a file whose metrics go through a helper in a second file."""
    folder.mkdir(exist_ok=True)
    (folder / "my_helper.py").write_text(HELPER.format(factor=factor, comment=comment))
    text = EXAMPLE.read_text() + textwrap.dedent(f"""
        import my_helper  # {comment}
        _metrics = THEORY.metrics
        def rescaled(params, problem, config):
            found = _metrics(params, problem, config)
            return {{name: my_helper.scale(value) for name, value in found.items()}}
        THEORY = THEORY._replace(metrics=rescaled)
    """)
    (folder / "mine.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(__import__("sys").modules, "my_helper", raising=False)
    return jaxtheory.theories.load(folder / "mine.py").THEORY


def test_a_file_counts_with_the_modules_it_imports_but_not_with_its_comments(tmp_path, monkeypatch):
    first = name_of(write_theory(tmp_path / "a", 1.0, "as it was", monkeypatch))
    assert name_of(write_theory(tmp_path / "b", 1.0, "says something else", monkeypatch)) == first
    assert name_of(write_theory(tmp_path / "c", 2.0, "as it was", monkeypatch)) != first


def test_stop_counts_with_what_it_closes_over():
    def below(threshold):
        return lambda metrics: metrics["loss"] < threshold

    assert name_of(stop=below(0.1)) == name_of(stop=below(0.1)) != name_of(stop=below(0.2))
    assert name_of(stop=lambda metrics: metrics["loss"] < 0.1) != name_of(
        stop=lambda metrics: metrics["rounded_loss"] < 0.1
    )
    assert name_of(stop=functools.partial(below, 0.1)) != name_of(
        stop=functools.partial(below, 0.2)
    )


def test_start_and_the_way_to_draw_count():
    run = jaxtheory.simulate(THEORY, Config(), jaxtheory.run_key(0, 0), steps=1)
    start = jax.tree.map(lambda x: x[None], run.params)
    assert (
        len({name_of(), name_of(start=start), name_of(start=jax.tree.map(lambda x: x + 1, start))})
        == 3
    )
    with jax.threefry_partitionable(not jax.config.jax_threefry_partitionable):
        digest = name_of()
    assert digest != name_of()


@pytest.mark.parametrize(
    "options",
    [
        {"key": 1},
        {"seeds": 2},
        {"steps": 5},
        {"dtype": "float32"},
        {"vary": {"eta": [0.1]}},
        {"record": 2},
    ],
)
def test_every_argument_counts(options):
    assert name_of(**options) != name_of()


def test_digests_are_the_same_in_every_process(tmp_path):
    import subprocess
    import sys

    code = (
        "import jax; jax.config.update('jax_enable_x64', True)\nimport jaxtheory\n"
        "from jaxtheory.engine.results.identity import fingerprint, identity\nfrom "
        "jaxtheory.engine.request.request import read\n"
        "for name in jaxtheory.theories.names():\n"
        "    theory = jaxtheory.theories.get(name)\n"
        "    print(fingerprint(identity(read(theory, theory.Config(), steps=4))))\n"
    )
    one, two = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert one == two and len(set(one.split())) == len(names())


def test_a_theory_without_an_identity_is_refused_before_it_is_trained(monkeypatch):
    trained = []
    monkeypatch.setattr("jaxtheory.engine.sweep.run_locally", lambda *args: trained.append(args))
    leak = []
    jax.jit(lambda x: leak.append(x) or x)(1.0)

    def metrics(params, problem, config):
        return {"loss": jnp.zeros(()) if leak else 0.0}

    theory = THEORY._replace(metrics=metrics, dims={}, predict=lambda problem, config, steps: {})
    with pytest.raises(InputError, match="stored a traced value"):
        sweep(theory, Config(), steps=2, execute=lambda *args: trained.append(args) or iter(()))
    assert trained == []


def test_functions_as_values_count_by_their_code():
    assert "0x" not in as_json(scaled)
    assert as_json(scaled(1.0)) == as_json(scaled(1.0)) != as_json(scaled(2.0))
    assert as_json(object()) == "<object object>"
