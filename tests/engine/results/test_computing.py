"""The identity of a result: the same wherever jaxtheory is installed and however Python runs,
another one after any edit of what decides the bits.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers.stores import lose_dataset

from jaxtheory.engine.request import jaxprs
from jaxtheory.engine.results import computing
from jaxtheory.ops import draws
from jaxtheory.theories import names

ROOT = Path(__file__).parents[3]
CODES = """
import json, sys
import jaxtheory
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.request.request import read
assert jaxtheory.__file__.startswith(sys.argv[1]), jaxtheory.__file__
found = {}
for name in jaxtheory.theories.names():
    theory = jaxtheory.theories.get(name)
    vary = {"algorithm": list(theory.algorithms)}
    found[name] = identity(read(theory, theory.Config(), steps=4, vary=vary))["code"]
print(json.dumps(found))
"""
ENGINE = "from jaxtheory.engine.results import computing; print(computing.digest())"


def copied(folder):
    """The folder, with the sources of the package in it."""
    shutil.copytree(
        ROOT / "jaxtheory", folder / "jaxtheory", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


def begun(place, script, *words, flags=(), **more):
    """A process that runs a script on the package in a place."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("JAX", "PYTHON"))}
    return subprocess.Popen(
        [sys.executable, *flags, "-c", script, *map(str, words)],
        cwd=place if place.is_dir() else place.parent,
        env=keep | {"PYTHONPATH": str(place), "JAX_PLATFORMS": "cpu"} | more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process, given=""):
    """What a process printed, given its input; it must end well."""
    out, errors = process.communicate(given)
    assert process.returncode == 0, errors[-3000:]
    return out


def test_it_depends_on_no_place_and_no_way_of_running(tmp_path):
    one, two = copied(tmp_path / "one"), copied(tmp_path / "deeper" / "two")
    archive = tmp_path / "wheel.zip"
    with zipfile.ZipFile(archive, "w") as wheel:
        for file in sorted((ROOT / "jaxtheory").rglob("*")):
            if file.suffix in (".py", ".typed"):
                wheel.write(file, file.relative_to(ROOT))
    running = [
        begun(one, CODES, one, PYTHONHASHSEED="1"),
        begun(two, CODES, two, PYTHONHASHSEED="2"),
        begun(one, CODES, one, flags=("-O",)),
        begun(two, CODES, two, flags=("-OO",)),
        begun(archive, CODES, archive),
    ]
    first, *replicas = (json.loads(said(process)) for process in running)
    assert len(first) == len(names())
    for replica in replicas:
        assert replica == first
    for theory, code in first.items():
        algorithms = [digest for slot, digest in code.items() if slot.startswith("algorithm ")]
        assert len(set(algorithms)) == len(algorithms), theory  # each is told from the others


EDITS = {  # name -> a file, a text in it, and what replaces it
    "once": (
        "engine/request/jaxprs.py",
        "earlier = None if eqn.effects else",
        "earlier = None if not eqn.effects else",
    ),
    "compiler options": (
        "engine/request/settings.py",
        '"xla_cpu_use_fusion_emitters": False',
        '"xla_cpu_use_fusion_emitters": True',
    ),
    "precision": (
        "engine/request/settings.py",
        'default_matmul_precision("highest")',
        'default_matmul_precision("high")',
    ),
    "threefry": ("ops/threefry.py", "(13, 15, 26, 6)", "(13, 15, 26, 7)"),
    "streams": (
        "ops/draws.py",
        "PROBLEM, INIT, STEPS = 0, 1, 2",
        "PROBLEM, INIT, STEPS = 1, 0, 2",
    ),
    "level": (
        "engine/compute/compiled.py",
        "compiler_options(level=2)",
        "compiler_options(level=3)",
    ),
    "a default": ("core/theory.py", "params: Callable = shown", "params: Callable = nothing"),
    "a batch": (
        "engine/compute/program.py",
        "jax.random.fold_in(key, 0),",
        "jax.random.fold_in(key, 2),",
    ),
}
SAME = {
    "comment": ("ops/draws.py", "PROBLEM, INIT", "# said otherwise\nPROBLEM, INIT"),
    "docstring": (
        "engine/request/jaxprs.py",
        '"""Analysis of jaxprs,',
        '"""Some analysis of jaxprs,',
    ),
    "formatting": (
        "ops/draws.py",
        "return masked(level(key, 0), *axes)",
        "return masked(\n level(key, 0), *axes)",
    ),
    "no bits": (
        "reports/wording.py",
        "import",
        "import ast\nimport",
    ),
}


def edited(folder, edit):
    """A copy of the package with an edit."""
    name, old, new = edit
    file = copied(folder) / "jaxtheory" / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


def test_every_edit_of_what_decides_the_bits_is_seen(tmp_path):
    running = {"as it is": begun(copied(tmp_path / "as it is"), ENGINE)}
    for name, edit in {**EDITS, **SAME}.items():
        running[name] = begun(edited(tmp_path / name, edit), ENGINE)
        if len(running) % 4 == 0:  # so many side by side
            list(running.values())[-1].wait()
    digests = {name: said(process).strip() for name, process in running.items()}
    as_it_is = digests.pop("as it is")
    assert {name for name, digest in digests.items() if digest == as_it_is} == {*SAME}
    assert len({digests[name] for name in EDITS}) == len(EDITS)


PACK = """
import sys
from pathlib import Path
import jaxtheory
from jaxtheory.engine.cluster import pickling
from jaxtheory.engine.planning import planner
from jaxtheory.engine.request.request import read
from jaxtheory.engine.execution.chunk_task import ChunkTask
theory = jaxtheory.theories.get("random_walk")
asked = dict(steps=2, vary={"p": [0.3, 0.7]})
request = read(theory, theory.Config(num_states=4, length=9), **asked)
if sys.argv[1] == "pack":
    packed = pickling.pack(ChunkTask(request), planner.plan_request(request).chunks)
    sys.stdout.buffer.write(packed.hex().encode())
elif sys.argv[1] == "unpack":
    try:
        pickling.unpack(bytes.fromhex(sys.stdin.read()), Path.cwd())
        print("accepted")
    except jaxtheory.InputError as error:
        print(error)
else:
    try:
        config = request.config
        jaxtheory.sweep(theory, config, **asked, store=sys.argv[1])
        print("swept")
    except jaxtheory.InputError as error:
        print(error)
"""


def test_a_worker_and_a_resume_with_an_edit_are_refused(tmp_path):
    one, two = copied(tmp_path / "one"), copied(tmp_path / "two")
    variant = edited(tmp_path / "other", EDITS["streams"])
    packed = said(begun(one, PACK, "pack"))
    for place, answer in ((two, "accepted"), (variant, "has another code of engine; install")):
        assert said(begun(place, PACK, "unpack"), packed).startswith(answer)
    store = tmp_path / "store"
    assert said(begun(one, PACK, store)) == "swept\n"
    lose_dataset(store)
    for part in (store / "parts").glob("*.part"):
        part.unlink()
    assert "the code of random_walk has changed since (engine)" in said(begun(variant, PACK, store))
    assert said(begun(two, PACK, store)) == "swept\n"


# Modules that a sweep imports and that do not decide bits: they refuse, keep, carry and describe
OTHERS = {
    "jaxtheory.engine.accessor",
    "jaxtheory.system.backend",
    "jaxtheory.system.disk",
    "jaxtheory.texts.errors",
    "jaxtheory.core.validation",
    "jaxtheory.core.plugins",
    "jaxtheory.core.resolve",
    "jaxtheory.system.locks",
    "jaxtheory.system.machine",
    "jaxtheory.system.npz",
    "jaxtheory.system.temporary",
    "jaxtheory.engine.cover",
    "jaxtheory.engine.fill",
    "jaxtheory.engine.store.datasets",
    "jaxtheory.engine.store.difference",
    "jaxtheory.engine.store.rectangle",
    "jaxtheory.engine.store.view",
    "jaxtheory.engine.store.archive",
    "jaxtheory.engine.results.attributes",
    "jaxtheory.system.compilation_cache",
    "jaxtheory.engine.cluster.dask",
    "jaxtheory.engine.results.combine",
    "jaxtheory.engine.results.computing",
    "jaxtheory.engine.request.current",
    "jaxtheory.core.docstrings",
    "jaxtheory.texts.faces",
    "jaxtheory.code.classes",
    "jaxtheory.code.code_hash",
    "jaxtheory.code.contents",
    "jaxtheory.code.libraries",
    "jaxtheory.code.readers",
    "jaxtheory.code.scopes",
    "jaxtheory.core.check_theory",
    "jaxtheory.core.contract",
    "jaxtheory.code.constant_draws",
    "jaxtheory.code.traces",
    "jaxtheory.code.externals",
    "jaxtheory.engine.results.environment",
    "jaxtheory.engine.results.identity",
    "jaxtheory.engine.planning.memory",
    "jaxtheory.code.names",
    "jaxtheory.texts.labels",
    "jaxtheory.code.places",
    "jaxtheory.code.plain",
    "jaxtheory.verification.normalizers",
    "jaxtheory.engine.store.packed",
    "jaxtheory.engine.cluster.pickling",
    "jaxtheory.engine.plan",
    "jaxtheory.engine.planning.planner",
    "jaxtheory.engine.execution.bar",
    "jaxtheory.engine.execution.progress",
    "jaxtheory.engine.simulate",
    "jaxtheory.code.source",
    "jaxtheory.engine.store.store",
    "jaxtheory.engine.sweep",
    "jaxtheory.engine.results.versions",
    "jaxtheory.engine.results.without_effect",
    "jaxtheory.engine.request.dependence",
    "jaxtheory.system.atomic",
    "jaxtheory.engine.execution.chunk_task",
    "jaxtheory.engine.cluster.worker",
}
IMPORTED = """
import sys
import jaxtheory
theory = jaxtheory.theories.get("random_walk")
config = theory.Config(num_states=4, length=9)
jaxtheory.sweep(theory, config, vary={"p": [0.3, 0.7]}, steps=2, store="s")
files = {n: getattr(m, "__file__", None) or "" for n, m in [*sys.modules.items()]}
ours = (n for n in files if n.startswith("jaxtheory.") and not files[n].endswith("__init__.py"))
print(*(name for name in ours if not name.startswith("jaxtheory.theories.")))
"""


def test_every_module_of_a_run_is_known_to_decide_bits_or_not_to(tmp_path):
    copied(tmp_path)
    modules = set(said(begun(tmp_path, IMPORTED)).split())
    assert computing._MODULES.keys() <= modules  # all that is hashed takes part
    assert modules - computing._MODULES.keys() - OTHERS == set()
    assert not OTHERS & computing._MODULES.keys()


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (draws, "PROBLEM", 7),
        (draws, "normal", lambda key, *axes: draws.uniform(key, *axes)),
        (jaxprs, "_merged", lambda closed: closed),
    ],
)
def test_what_is_replaced_in_memory_counts(module, name, value, monkeypatch):
    before = computing.digest()
    assert computing.digest() == before
    monkeypatch.setattr(module, name, value)
    changed = computing.digest()
    assert changed != before
    monkeypatch.undo()
    assert computing.digest() == before
