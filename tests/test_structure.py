"""Who may import whom, read from the sources: the rules of the house, each with an example that breaks it."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(path.relative_to(ROOT) for folder in ("jaxtheory", "sweeps") for path in (ROOT / folder).rglob("*.py"))

CORE_USES = {"jax", "flax", "optax", "numpy", "jaxtyping"}
SEE_EVERYTHING = {"jaxtheory", "jaxtheory.cli", "jaxtheory.theories"}
LAYERS = ("model", "calculus", "training", "predictions")  # of a room; each may import what stands before it
LONGEST = 400  # lines; more is two objects


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> set[str]:
    """The modules a source imports; `from a import b` counts as a.b."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {"." * node.level + f"{node.module or ''}.{alias.name}" for alias in node.names}
    return found


def inside(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def import_fault(module: str, name: str) -> str | None:
    """Why a module may not import a name, or None."""
    if name.startswith("."):
        return "imports are absolute"
    if inside(name, "jax._src"):
        return "only public JAX names"
    if inside(name, "matplotlib") and module not in ("jaxtheory.engine.plot", "jaxtheory.engine.report"):
        return "only plot and report import matplotlib"
    ours = inside(name, "jaxtheory")
    if inside(module, "sweeps"):
        room_names = name.startswith("jaxtheory.theories.") and name.count(".") <= 3
        return None if not ours or name.count(".") <= 1 or room_names else "sweeps use the public API only"
    if inside(module, "jaxtheory.core"):
        if ours:
            return None if inside(name, "jaxtheory.core") else "core imports nothing of ours"
        return None if name.split(".")[0] in CORE_USES | sys.stdlib_module_names else f"core uses {', '.join(sorted(CORE_USES))} only"
    if not ours or module in SEE_EVERYTHING:
        return None
    if inside(module, "jaxtheory.engine"):
        return None if inside(name, "jaxtheory.core", "jaxtheory.engine") else "engine imports core only"
    if module.startswith("jaxtheory.theories."):
        room = ".".join(module.split(".")[:3])
        if not inside(name, "jaxtheory.core", room):
            return "a room imports core and itself only"
        here, there = module.removeprefix(room + "."), name.removeprefix(room + ".").split(".")[0]
        if here in LAYERS and there in LAYERS and LAYERS.index(there) >= LAYERS.index(here):
            return f"{here} may import {', '.join(LAYERS[: LAYERS.index(here)]) or 'no other file of its room'}"
        return None
    return "sees engine and rooms" if inside(name, "jaxtheory.engine", "jaxtheory.theories") else None


def faults(module: str, source: str) -> list[str]:
    """The rules that a source breaks."""
    tree = ast.parse(source)
    found = [f"{module} imports {name}: {why}" for name in sorted(imports(tree)) if (why := import_fault(module, name))]
    if module != "jaxtheory.cli":
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
        found += [f"{module}:{call.lineno} prints; only the command line does" for call in calls if call.func.id == "print"]
    if (length := source.count("\n")) > LONGEST:
        found.append(f"{module} has {length} lines: one object, or two?")
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_the_rules_hold(path: Path) -> None:
    assert faults(module_name(path), (ROOT / path).read_text()) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("jaxtheory.core.draws", "import jaxtheory"),
        ("jaxtheory.core.draws", "from jaxtheory.engine.plan import plan"),
        ("jaxtheory.core.draws", "import xarray"),
        ("jaxtheory.core.draws", "from . import config"),
        ("jaxtheory.engine.sweep", "def f():\n    from jaxtheory import theories"),
        ("jaxtheory.engine.sweep", "from jaxtheory.theories.random_walk import THEORY"),
        ("jaxtheory.engine.sweep", "import matplotlib.pyplot"),
        ("jaxtheory.theories.a.model", "from jaxtheory.engine import sweep"),
        ("jaxtheory.theories.a.model", "from jaxtheory.theories.b import model"),
        ("jaxtheory.theories.a.model", "from jaxtheory.theories.a.calculus import gradient"),
        ("jaxtheory.theories.a.calculus", "from jaxtheory.theories.a import training"),
        ("jaxtheory.theories.a.training", "from jaxtheory.theories.a import predictions"),
        ("jaxtheory.theories.a.model", "from jax._src import core"),
        ("jaxtheory.arguments", "from jaxtheory.engine import plan"),
        ("sweeps.a", "from jaxtheory.engine.sweep import sweep"),
        ("sweeps.a", "from jaxtheory.theories.a.model import Config"),
        ("sweeps.a", "import matplotlib"),
        ("jaxtheory.engine.sweep", "print(1)"),
        ("jaxtheory.engine.sweep", "\n" * 401),
    ],
)
def test_a_broken_rule_is_seen(module: str, source: str) -> None:
    assert len(faults(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("jaxtheory.core.draws", "from jaxtheory.core.config import Size\nfrom flax import struct"),
        ("jaxtheory.engine.sweep", "from jaxtheory.core.theory import Theory\nfrom jaxtheory.engine import plan\nimport xarray"),
        ("jaxtheory.theories.a.predictions", "from jaxtheory.theories.a import calculus, model, training"),
        ("jaxtheory.theories.a", "from jaxtheory.theories.a.predictions import metrics"),
        ("jaxtheory.cli", "from jaxtheory import theories, sweep\nprint(1)"),
        ("sweeps.a", "import jaxtheory\nfrom jaxtheory import Claim\nfrom jaxtheory.theories.random_walk import Config"),
    ],
)
def test_what_is_allowed_passes(module: str, source: str) -> None:
    assert faults(module, source) == []


def test_rooms_have_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {}
    for path in FILES:
        module = module_name(path)
        if module.startswith("jaxtheory.theories.") and module.count(".") == 3:
            room = module.rpartition(".")[0]
            names = imports(ast.parse((ROOT / path).read_text()))
            graph[module] = {f"{room}.{name.removeprefix(room + '.').split('.')[0]}" for name in names if name.startswith(room + ".")}
    done: set[str] = set()
    while ready := {m for m, needs in graph.items() if m not in done and not (needs & graph.keys()) - done}:
        done |= ready
    assert graph.keys() - done == set()


def test_there_is_something_to_check() -> None:
    modules = {module_name(path) for path in FILES}
    assert {"jaxtheory", "jaxtheory.cli", "jaxtheory.core.config", "jaxtheory.engine.sweep", "jaxtheory.theories.random_walk"} <= modules
    assert any(inside(module, "sweeps") for module in modules)
