"""What travels to a worker: named things by name, a user's file as text, the rest by value; and
what a worker refuses.
"""

import pickle
import sys
import types
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxtheory
from jaxtheory.engine.cluster import pickling
from jaxtheory.engine.execution.chunk_task import ChunkTask
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.planning import planner
from jaxtheory.engine.request.request import read

FILE = Path(__file__).parents[3] / "docs" / "examples" / "linear_regression.py"
ASKED = {"vary": {"eta": [0.1, 0.2], "d": [2, 3]}, "seeds": 2, "steps": 3}


@pytest.fixture
def example():
    return jaxtheory.theories.load(FILE).THEORY


def packed(theory, config=None, **options):
    request = read(theory, config or theory.Config(), **{**ASKED, **options})
    chunks = planner.plan_request(request).chunks
    return pickling.pack(ChunkTask(request), chunks), request, chunks


HOME: list[Path] = []  # the folder of the worker that a test plays


@pytest.fixture(autouse=True)
def home(tmp_path):
    HOME[:] = [tmp_path]


def unpack(bytes_):
    return pickling.unpack(bytes_, HOME[0])


def assert_same_parts(bytes_, request, chunks):
    opened = unpack(bytes_)
    for chunk in chunks:
        got = opened.task(chunk._replace(bucket=opened.buckets[chunk.bucket.number]))
        want = run_chunk(request, chunk)
        assert got.values.keys() == want.values.keys()
        for name in want.values:
            np.testing.assert_array_equal(got.values[name], want.values[name], name)
    return opened


def test_a_room_travels_by_name():
    theory = jaxtheory.theories.get("random_walk")
    options = {"vary": {"p": [0.3, 0.7]}, "steps": 2}
    bytes_, request, chunks = packed(theory, theory.Config(num_states=4, length=9), **options)
    opened = assert_same_parts(bytes_, request, chunks)
    assert opened.task.request.theory is theory
    assert len(bytes_) < 10_000 and pickling._by_value(theory) == []


def test_a_file_travels_as_text(example):
    bytes_, request, chunks = packed(example)
    name = example.Config.__module__
    place, text = pickle.loads(bytes_)["sources"][name]
    assert place == FILE.name and text == FILE.read_text()
    module = sys.modules.pop(name)
    path = list(sys.path)
    try:
        opened = assert_same_parts(bytes_, request, chunks)
        again = unpack(bytes_)
    finally:
        sys.modules[name], sys.path[:] = module, path
    theory = opened.task.request.theory
    assert theory.Config is not example.Config and theory.name == example.name
    assert again.task.request.theory.problem is theory.problem  # kept: nothing is compiled again


def test_modules_beside_a_file_travel(tmp_path, monkeypatch):
    (tmp_path / "beside_f").mkdir()
    (tmp_path / "beside_f" / "__init__.py").write_text("")
    (tmp_path / "beside_f" / "rates.py").write_text("HALF = 0.5\n")
    text = FILE.read_text().replace("from typing", "from beside_f import rates\nfrom typing", 1)
    (tmp_path / "using_f.py").write_text(text.replace("residual**2)", "residual**2) * rates.HALF"))
    monkeypatch.syspath_prepend(tmp_path)
    theory = jaxtheory.theories.load(tmp_path / "using_f.py").THEORY
    bytes_, request, chunks = packed(theory)
    sources = pickle.loads(bytes_)["sources"]
    assert {"beside_f", "beside_f.rates", theory.Config.__module__} <= sources.keys()
    path = [place for place in sys.path if place != str(tmp_path)]
    monkeypatch.setattr(sys, "path", path)
    for name in sources:
        monkeypatch.delitem(sys.modules, name)
    opened = assert_same_parts(bytes_, request, chunks)
    assert opened.task.request.theory.loss.__globals__["rates"].HALF == 0.5


def notebook(text, name="__main__"):
    """A theory as typed into a notebook: no file, no module to import."""
    module = types.ModuleType(name)
    exec(compile(text, "<cell>", "exec"), module.__dict__)
    return module.THEORY


METHOD = '''
    def violations(self):
        """A message that names the class."""
        return [] if self.noise < 5 and Config.__name__ else ["noise"]


class Problem('''


def test_a_theory_of_a_notebook_travels_by_value():
    text = FILE.read_text().replace("\n\nclass Problem(", METHOD, 1)
    theory = notebook(text)
    bytes_, request, chunks = packed(theory)
    sent = pickle.loads(bytes_)
    assert "problem" in sent["by value"] and not sent["sources"]
    before = dict(pickling.cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID)
    pickling.cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()  # as in another process
    try:
        opened = assert_same_parts(bytes_, request, chunks)
    finally:
        pickling.cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.update(before)
    config = opened.task.request.config
    assert type(config) is not theory.Config
    assert len(jax.tree.leaves(config)) == len(jax.tree.leaves(theory.Config()))
    assert config.replace(noise=6.0).violations() == ["noise"]


def test_changed_slots_problems_starts_keys_and_rules_travel(example):
    config = example.Config(dimension=3)
    problem = example.problem(jax.random.key(5), config)
    start = jaxtheory.simulate(example, config, jaxtheory.run_key(0, 0), steps=2)
    for options in (
        {"problem": problem, "vary": {"eta": [0.1, 0.2]}},
        {"start": start, "vary": {"eta": [0.1, 0.2]}},
        {"key": jaxtheory.run_key(3, 1), "seeds": 1},
        {"stop": lambda metrics: metrics["loss"] < 0.3},
        {"algorithm": "sgd", "record": {"loss": 1, "weights": [3]}, "dtype": "float32"},
    ):
        assert_same_parts(*packed(example, config, **options))
    changed = example._replace(metrics=lambda params, problem, config: {"w": params.weights})
    changed = changed._replace(dims={}, predict=lambda problem, config, steps: {})
    assert pickling._by_value(changed) == ["metrics", "dims", "predict"]
    assert_same_parts(*packed(changed, config))


def elsewhere(bytes_, **versions):
    """The parcel of a sweep on another machine."""
    sent = pickle.loads(bytes_)
    return pickle.dumps(sent | {"versions": {**sent["versions"], **versions}})


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("target", "x86_64 old sse2 0", "use workers of one kind, and run the sweep on"),
        ("backend", "gpu", "use workers of one kind, and run the sweep on"),
        ("xla_flags", "xla_cpu_enable_fast_math=true", "set the same flags and variables where"),
        ("jax_flags", "jax_random_seed_offset=1", "set the same flags and variables where"),
        ("variables", "MKL_CBWR=AVX", "set the same flags and variables where"),
        ("scipy", "0.1", "install the versions of the sweep there"),
    ],
)
def test_another_processor_or_flag_is_refused_in_one_line(name, value, remedy, example):
    bytes_, request, chunks = packed(example)
    with pytest.raises(jaxtheory.InputError, match=f"^has {name} .*, the sweep ") as caught:
        unpack(elsewhere(bytes_, **{name: value}))
    said = str(caught.value)
    assert f"the sweep {value}; {remedy}" in said
    assert "\n" not in said
    accepting = elsewhere(pickling.pack(ChunkTask(request, accept=True), chunks), **{name: value})
    if name == "scipy":
        with pytest.raises(jaxtheory.InputError, match="install the versions"):
            unpack(accepting)
    else:
        assert unpack(accepting).task.accept


def test_several_differences_are_one_line(example):
    bytes_, _, _ = packed(example)
    with pytest.raises(jaxtheory.InputError) as caught:
        unpack(elsewhere(bytes_, target="other", backend="tpu", jax="0.1"))
    said = str(caught.value)
    assert all(f"{name} " in said for name in ("target", "backend", "jax"))
    assert said.count("workers of one kind") == said.count("install the versions") == 1
    assert "\n" not in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"versions": {**pickling.required_versions(), "jax": "0.1"}},
            "has jax [0-9.]+, the sweep 0.1; inst",
        ),
        ({"code": "0"}, "has another code of linear_regression; install"),
        ({"store": "/nowhere/at/all"}, "does not see the store /nowhere/at/all; choose"),
    ],
)
def test_what_is_not_fit_is_refused_in_one_line(change, message, example):
    bytes_, _, _ = packed(example)
    with pytest.raises(jaxtheory.InputError, match=message) as caught:
        unpack(pickle.dumps(pickle.loads(bytes_) | change))
    assert "\n" not in str(caught.value)


def test_another_code_is_refused_by_the_slot(example):
    bytes_, _, _ = packed(example)
    sent = pickle.loads(bytes_)
    sent["identity"]["code"]["metrics"] = "0"
    with pytest.raises(jaxtheory.InputError, match=r"^has another code of metrics; install"):
        unpack(pickle.dumps(sent))


def test_what_cannot_travel_is_said_in_one_line(example):
    class Closed:
        """An object whose contents can be read, but that refuses to be sent."""

        value = False

        def __reduce__(self):
            raise TypeError("closed")

    closed = Closed()
    with pytest.raises(jaxtheory.InputError, match="cannot be sent to another process") as caught:
        packed(example, stop=lambda metrics: closed.value)
    assert "\n" not in str(caught.value)
