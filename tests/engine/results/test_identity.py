"""What counts as the same request: all that changes numbers, and nothing else."""

import functools
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import EXAMPLE, THEORY, Config

import jaxtheory
from jaxtheory import InputError, sweep
from jaxtheory.core.code_hash import digest_code
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import fingerprint, identity, plain
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
    other = THEORY._replace(
        checks=(),
        examples=(),
        assumptions=lambda problem, config: {},
    )
    assert name_of(other) == name_of()


HELPER = (
    "FACTOR = {factor}  # {comment}\n\ndef scale(x):\n    '''{comment}'''\n    return FACTOR * x\n"
)


def written(folder, factor, comment, monkeypatch):
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
    first = name_of(written(tmp_path / "a", 1.0, "as it was", monkeypatch))
    assert name_of(written(tmp_path / "b", 1.0, "says something else", monkeypatch)) == first
    assert name_of(written(tmp_path / "c", 2.0, "as it was", monkeypatch)) != first


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
        other = name_of()
    assert other != name_of()


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

    for one, same, other in zip(makers(1.0), makers(1.0), makers(2.0), strict=True):
        assert digest_code(one) == digest_code(same) != digest_code(other)


def test_what_was_seen_before_still_counts_in_its_place():
    one, two = (lambda x: x), (lambda x: 2 * x)
    assert digest_code((one, two, one)) != digest_code((one, two, two))
    assert digest_code({"a": one, "b": two, "c": one}) != digest_code(
        {"a": one, "b": two, "c": two}
    )
    assert digest_code({one, two}) == digest_code({two, one}) != digest_code({one})
    loop: list = [one]
    loop.append(loop)
    assert digest_code(loop) == digest_code(loop)


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
    one, other = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert one == other and len(set(one.split())) == len(names())


# What a name in a function stands for

CLASH = """
import jaxtheory

def V():
    return jaxtheory.sweep(THEORY, THEORY.Config(), steps=1)

def weights():
    return [weights, REGISTRY]

REGISTRY = {weights}

def again(x):
    "A helper that names itself, and a set that holds it."
    assert V is not None
    return again(x - 1) if x > 3 else x + len(REGISTRY)

def with_helpers(params, problem, config):
    V = params.weights
    return {"size": V.sum() + again(1)}

THEORY = THEORY._replace(metrics=with_helpers, dims={}, predict=lambda problem, config, steps: {})
"""


def clash(folder, change=("", "")):
    """The worked example whose metrics read attributes that are also names of helpers."""
    folder.mkdir()
    text = (EXAMPLE.read_text(encoding="utf-8") + CLASH).replace(*change)
    (folder / "clash.py").write_text(text, encoding="utf-8")
    return jaxtheory.theories.load(folder / "clash.py").THEORY


def test_an_attribute_is_not_a_global(tmp_path):
    theory = clash(tmp_path / "a")
    first = name_of(theory)
    data = sweep(theory, theory.Config(), steps=2)
    assert data["size"].shape == (1, 3)
    other = ("jaxtheory.sweep(THEORY, THEORY.Config(), steps=1)", "3")
    assert name_of(clash(tmp_path / "b", other)) == first
    assert name_of(clash(tmp_path / "c", ("again(x - 1)", "again(x - 2)"))) != first
    assert name_of(clash(tmp_path / "d", ("assert V is not None", "assert V"))) == first


def test_a_theory_without_an_identity_is_refused_before_it_is_trained(monkeypatch):
    trained = []
    monkeypatch.setattr("jaxtheory.engine.sweep.here", lambda *args: trained.append(args))
    leak = []
    jax.jit(lambda x: leak.append(x) or x)(1.0)

    def metrics(params, problem, config):
        return {"loss": jnp.zeros(()) if leak else 0.0}

    theory = THEORY._replace(metrics=metrics, dims={}, predict=lambda problem, config, steps: {})
    with pytest.raises(InputError, match="kept a traced value"):
        sweep(theory, Config(), steps=2, execute=lambda *args: trained.append(args) or iter(()))
    assert trained == []


def test_labels_that_fail_at_a_later_point_are_refused_before_training():
    trained = []

    def coords(config):
        if float(config.noise) == 0.5:
            raise ZeroDivisionError("no labels here")
        return {"coordinate": list(range(config.dimension.cap))}

    theory = THEORY._replace(coords=coords)
    with pytest.raises(InputError, match=r"coords: ZeroDivisionError: no labels here"):
        sweep(
            theory,
            Config(),
            vary={"noise": [0.1, 0.5]},
            steps=2,
            execute=lambda *args: trained.append(args) or iter(()),
        )
    assert trained == []


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
    assert digest_code(one) != digest_code(two)
    assert digest_code({"a", "b"}) == digest_code({"b", "a"})


def test_functions_as_values_count_by_their_code():
    assert "0x" not in plain(scaled)
    assert plain(scaled(1.0)) == plain(scaled(1.0)) != plain(scaled(2.0))
    assert plain(object()) == "<object object>"
