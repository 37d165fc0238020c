"""The rules of the house, read from the sources, each with an example that breaks it."""

import ast
import collections
import re
import sys
from pathlib import Path

import helpers.slow
import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path.relative_to(ROOT)
    for folder in ("jaxtheory", "sweeps")
    for path in (ROOT / folder).rglob("*.py")
)
ROOMS = sorted(
    path.parent.relative_to(ROOT) for path in (ROOT / "jaxtheory" / "theories").glob("*/model.py")
)

CORE_USES = {"jax", "optax", "numpy", "jaxtyping", "typing_extensions"}
# the folders, lowest first; nothing imports upward, nor between the folders of one row
FLOORS: tuple[tuple[str, ...], ...] = (
    ("jaxtheory.texts",),
    ("jaxtheory.code",),
    ("jaxtheory.core",),
    ("jaxtheory.system",),
    ("jaxtheory.ops",),
    ("jaxtheory.margin", "jaxtheory.observables", "jaxtheory.networks"),
    ("jaxtheory.engine.records",),
    ("jaxtheory.engine.request",),
    ("jaxtheory.engine.planning",),
    ("jaxtheory.engine.compute",),
    ("jaxtheory.engine.results",),
    ("jaxtheory.engine.stored_run",),
    ("jaxtheory.engine.accessor",),
    ("jaxtheory.engine.store",),
    ("jaxtheory.engine.execution",),
    ("jaxtheory.engine",),
    ("jaxtheory.engine.cluster",),
    ("jaxtheory.verification", "jaxtheory.claims", "jaxtheory.plotting"),
    ("jaxtheory.reports",),
)
DRAWING = tuple(
    f"jaxtheory.plotting.{name}"
    for name in ("annotation.beside", "colors", "drawing", "panels", "plot")
)  # which import matplotlib
# which may print
COMMANDS = {
    f"jaxtheory.cli.{name}"
    for name in ("main", "run", "show", "explore", "export", "boundary", "rerun")
}
SEE_EVERYTHING = ("jaxtheory.cli", "jaxtheory.__main__")
GROUND = ("jaxtheory.texts", "jaxtheory.code", "jaxtheory.core", "jaxtheory.ops")
BELOW_ROOMS = (*GROUND, "jaxtheory.system")
LAYERS = (
    "model",
    "data",
    "given",
    "calculus",
    "laws",
    "training",
    "analyses",
    "predictions",
    "checks",
)  # each may import what stands before it
FOLDERS = ("laws", "analyses", "checks")  # which may be folders
CHECKS_BESIDE = (
    "__init__",
    "literal",
    "material",
)  # files of checks/ that guard no file of the same name
EXPORTS = set(
    "ALGORITHMS THEORY Config assumptions gradient init loss metrics predict problem sample".split()
)  # of every theory package
FACES = {
    "simulate",
    "sweep",
    "plan",
    "read",
    "boundary",
    "read_boundary",
}  # the verbs write their keywords out
ARGUMENTS, LONGEST, LARGEST = 7, 500, 16
FACTORISATIONS = {
    "svd",
    "eigh",
    "eigvalsh",
    "cholesky",
    "qr",
    "solve",
    "inv",
    "pinv",
    "lstsq",
    "eig",
    "det",
    "slogdet",
}

OTHERS = {
    "os.open",
    "self.open",
    "Image.open",
    "archive.open",
    "webbrowser.open",
    "data.read_text",
}  # of the same names, but not a path's


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> set[str]:
    """The modules a source imports; `from a import b` counts as a.b."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {
                "." * node.level
                + f"{node.module or ''}.{alias.name}".lstrip("." * bool(node.level))
                for alias in node.names
            }
    return modules


def inside(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def floor(module: str) -> int | None:
    """The floor of the house on which a module stands; None where it is not in the list."""
    own = [
        (len(place), k) for k, row in enumerate(FLOORS) for place in row if inside(module, place)
    ]
    return max(own)[1] if own else None


def are_peers(module: str, name: str) -> bool:
    """True for two folders of one floor, which do not import each other."""
    (row,) = [row for k, row in enumerate(FLOORS) if k == floor(module)]
    return [place for place in row if inside(module, place)] != [
        place for place in row if inside(name, place)
    ]


def import_fault(module: str, name: str) -> str | None:
    """Why a module may not import a name, or None."""
    if name.startswith("."):
        own_folder = inside(module, "sweeps") and not name.startswith("..")
        return None if own_folder else "imports are absolute, but for a figure's own folder"
    if inside(name, "jax._src"):
        return "only public JAX names"
    if inside(name, "matplotlib") and not inside(module, *DRAWING):
        return "only plot and drawing import matplotlib"
    ours = inside(name, "jaxtheory")
    if inside(
        module,
        "sweeps",
        "jaxtheory.cli.templates.template",
        "jaxtheory.cli.templates.template_flax",
    ):
        public = (
            name.count(".") <= 1
            or inside(name, "jaxtheory.claims", "jaxtheory.theories", "jaxtheory.llama")
            or inside(name, "jaxtheory.plot")
        )
        return None if not ours or public else "sweeps and the template use the public API only"
    if inside(module, *GROUND) and not ours:
        known = name.split(".")[0] in CORE_USES | sys.stdlib_module_names
        return None if known else f"the ground uses {', '.join(sorted(CORE_USES))} only"
    if not ours or module in ("jaxtheory", "jaxtheory.theories") or inside(module, *SEE_EVERYTHING):
        return None
    if module == "jaxtheory.testing":
        return "testing sees no room" if inside(name, "jaxtheory.theories") else None
    if inside(module, "jaxtheory.networks"):
        used = (*GROUND, "jaxtheory.networks")
        return None if inside(name, *used) else "networks use core, ops and what core uses"
    if inside(module, "jaxtheory.llama"):
        used = (*BELOW_ROOMS, "jaxtheory.llama", "jaxtheory.theories.attention_pruning")
        return None if inside(name, *used) else "llama uses core, ops and its room"
    if inside(module, "jaxtheory.tasks"):
        used = (*BELOW_ROOMS, "jaxtheory.theories", "jaxtheory.tasks")
        return None if inside(name, *used) else "tasks use core, ops and the theories"
    if module.startswith("jaxtheory.theories."):
        room = ".".join(module.split(".")[:3])
        if not inside(name, *GROUND, room):
            return "a room imports core, ops, what core uses, and itself only"
        source, target = (
            part.removeprefix(room).strip(".").split(".")[0] for part in (module, name)
        )
        if source in LAYERS and target in LAYERS and LAYERS.index(target) > LAYERS.index(source):
            return (
                f"{source} may import "
                f"{', '.join(LAYERS[: LAYERS.index(source)]) or 'no other file of its room'}"
            )
        return None
    source, target = floor(module), floor(name)
    if source is None:
        return f"{module} stands on no floor of the house"
    if target is None or target > source:
        return "an import that goes upward"
    if target == source and are_peers(module, name):
        return "folders of one floor do not import each other"
    return None


def in_the_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text in whatever encoding the locale has."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    keywords = {word.arg: word.value for word in call.keywords}
    if "encoding" in keywords:
        return False
    if ast.unparse(call.func) in OTHERS:
        return False
    if name in ("read_text", "write_text"):
        return isinstance(call.func, ast.Attribute)  # of a path
    if name == "open":
        place = 0 if isinstance(call.func, ast.Attribute) else 1
        mode = keywords.get("mode", call.args[place] if len(call.args) > place else None)
        binary = isinstance(mode, ast.Constant) and "b" in str(mode.value)
        return not binary
    return any(
        isinstance(keywords.get(word), ast.Constant) and bool(keywords[word].value)
        for word in ("text", "universal_newlines")
    )


def docstring_lines(tree: ast.Module) -> int:
    """The lines that the docstrings of a source take."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, kinds) and node.body]
    texts = [x for x in first if isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant)]
    return sum((text.end_lineno or 0) - text.lineno + 1 for text in texts)


def faults(module: str, source: str) -> list[str]:
    """The rules that a source breaks."""
    tree = ast.parse(source)
    violations = [
        f"{module} imports {name}: {why}"
        for name in sorted(imports(tree))
        if (why := import_fault(module, name))
    ]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if module not in COMMANDS:
        prints = [
            call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"
        ]
        violations += [
            f"{module}:{call.lineno} prints; only the command line does" for call in prints
        ]
    if inside(module, "jaxtheory.theories"):
        factors = [
            c
            for c in calls
            if isinstance(c.func, ast.Attribute)
            and ast.unparse(c.func.value) in ("jnp.linalg", "jax.numpy.linalg")
        ]
        violations += [
            f"{module}:{c.lineno} calls LAPACK on a batch; take core.linalg's"
            for c in factors
            if c.func.attr in FACTORISATIONS
        ]
    if inside(module, "jaxtheory.engine"):
        functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name not in FACES
        ]
        arities = {
            f.name: sum(
                a.arg != "self" for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)
            )
            for f in functions
        }
        violations += [
            f"{module}.{name} takes {n} arguments: make a record"
            for name, n in arities.items()
            if n > ARGUMENTS
        ]
    violations += [
        f"{module}:{call.lineno} handles text in the locale's encoding; write encoding="
        for call in calls
        if in_the_locale(call)
    ]
    if (length := source.count("\n") - docstring_lines(tree)) > LONGEST:
        violations.append(f"{module} has {length} lines beside its docstrings: one object, or two?")
    return violations


def room_faults(files: set[str], sources: dict[str, str]) -> list[str]:
    """The rules of names that a room breaks, given its files (relative to the room, without .py)
    and the text of some.
    """
    violations = []
    for file in sorted(files - {"__init__"}):
        layer, _, inner = file.partition("/")
        if layer not in LAYERS or (inner and layer not in FOLDERS):
            violations.append(f"{file}: the files of a room are {', '.join(LAYERS)}")
        if layer == "checks" and inner and inner not in CHECKS_BESIDE:
            guarded = {
                inner,
                f"laws/{inner}",
                f"analyses/{inner}",
                *((f"{inner}/__init__",) if inner in FOLDERS else ()),
            }
            if not guarded & (files - {file}):
                violations.append(f"{file}: guards no file of its name")
    for name in ("problem", "sample"):
        if f"def {name}(" not in sources.get("data", ""):
            violations.append(f"{name} stands in data.py")
    return violations + export_faults(files, sources["__init__"])


def export_faults(files: set[str], source: str) -> list[str]:
    """The rules of exports that the `__init__` of a theory package breaks."""
    modules = {file.partition("/")[0] for file in files}
    faults, bound, exports = list[str](), set[str](), set[str]()
    for node in ast.parse(source).body:
        names = bound_names(node)
        of_package = isinstance(node, ast.ImportFrom) and str(node.module).count(".") == 2
        if not of_package:  # such an import binds modules to their own names
            faults += [f"__init__ binds {name}, a module" for name in sorted(names & modules)]
        if names == {"__all__"} and isinstance(node, ast.Assign):
            exports = set(ast.literal_eval(node.value))
        bound |= names
    faults += [f"__all__ lacks {name}" for name in sorted(EXPORTS - exports)]
    return faults + [f"__all__ lists {name}: undefined" for name in sorted(exports - bound)]


def bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()


@pytest.mark.parametrize("path", FILES, ids=str)
def test_the_rules_hold(path: Path) -> None:
    assert faults(module_name(path), (ROOT / path).read_text(encoding="utf-8")) == []


def test_no_room_has_too_many_files() -> None:
    counts = collections.Counter(path.parent for path in FILES if path.parts[0] == "jaxtheory")
    assert {str(room): n for room, n in counts.items() if n > LARGEST} == {}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_room_has_one_shape(room: Path) -> None:
    files = {
        path.relative_to(ROOT / room).with_suffix("").as_posix()
        for path in (ROOT / room).rglob("*.py")
    }
    sources = {name: (ROOT / room / f"{name}.py").read_text() for name in ("__init__", "data")}
    assert room_faults(files, sources) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("jaxtheory.ops.draws", "import jaxtheory"),
        ("jaxtheory.core.theory", "from jaxtheory.engine.plan import plan"),
        ("jaxtheory.core.theory", "from jaxtheory.ops import draws"),
        ("jaxtheory.engine.planning.cost", "from jaxtheory.engine.compute import program"),
        ("jaxtheory.engine.store.store", "from jaxtheory.engine import sweep"),
        ("jaxtheory.engine.sweep", "from jaxtheory.claims import verdict"),
        ("jaxtheory.nowhere", "from jaxtheory.core import theory"),
        ("jaxtheory.ops.draws", "import xarray"),
        ("jaxtheory.ops.draws", "from . import config"),
        ("jaxtheory.engine.sweep", "def f():\n    from jaxtheory import theories"),
        ("jaxtheory.engine.sweep", "from jaxtheory.theories.random_walk import THEORY"),
        ("jaxtheory.engine.sweep", "import matplotlib.pyplot"),
        ("jaxtheory.engine.sweep", "def f(a, b, c, d, e, f, g, *, h): ..."),
        ("jaxtheory.theories.a.model", "from jaxtheory.engine import sweep"),
        ("jaxtheory.theories.a.model", "from jaxtheory.theories.b import model"),
        ("jaxtheory.theories.a.model", "from jaxtheory.theories.a.calculus import gradient"),
        ("jaxtheory.theories.a.model", "from jaxtheory.theories.a import data"),
        ("jaxtheory.theories.a.calculus", "from jaxtheory.theories.a.laws import population"),
        ("jaxtheory.theories.a.laws.population", "from jaxtheory.theories.a import training"),
        ("jaxtheory.theories.a.training", "from jaxtheory.theories.a.checks import literal"),
        ("jaxtheory.theories.a.training", "from jaxtheory.theories.a import predictions"),
        ("jaxtheory.theories.a.model", "from jax._src import core"),
        ("jaxtheory.theories.a.laws", "def f(A):\n    return jnp.linalg.svd(A)"),
        ("jaxtheory.plotting.plot", "from jaxtheory.claims import claim"),
        ("jaxtheory.llama.masks", "from jaxtheory.theories.low_rank import model"),
        ("jaxtheory.llama.masks", "from jaxtheory.engine.plan import plan"),
        ("jaxtheory.tasks.walks", "from jaxtheory.engine.plan import plan"),
        ("jaxtheory.networks.trial", "from jaxtheory.engine.plan import plan"),
        ("jaxtheory.networks.standard", "from jaxtheory.system import disk"),
        ("jaxtheory.networks.standard", "from jaxtheory.theories.low_rank import model"),
        ("sweeps.a.figure", "from jaxtheory.engine.sweep import sweep"),
        ("sweeps.a.figure", "from .. import b"),
        ("sweeps.a.figure", "import matplotlib"),
        ("jaxtheory.engine.sweep", "print(1)"),
        ("jaxtheory.cli.terminal", "print(1)"),
        ("jaxtheory.engine.sweep", "\n" * 501),
        ("jaxtheory.engine.sweep", "path.read_text()"),
        ("jaxtheory.engine.sweep", "path.write_text(text, errors='replace')"),
        ("jaxtheory.engine.sweep", "open(path)"),
        ("jaxtheory.engine.sweep", "path.open('w', newline='')"),
        ("jaxtheory.engine.sweep", "subprocess.run(words, text=True)"),
    ],
)
def test_a_broken_rule_is_seen(module: str, source: str) -> None:
    assert len(faults(module, source)) == 1


GOOD = {
    "__init__",
    "model",
    "data",
    "laws/__init__",
    "laws/population",
    "checks/__init__",
    "checks/population",
    "checks/literal",
}
DATA = "def problem(key): ...\ndef sample(key): ..."
INIT = f"from jaxtheory.theories.a.model import {', '.join(EXPORTS)}\n__all__ = {sorted(EXPORTS)}"


@pytest.mark.parametrize(
    ("files", "sources"),
    [
        (GOOD | {"helpers"}, {}),
        (GOOD | {"model/config"}, {}),
        (GOOD | {"checks/numbers"}, {}),
        (GOOD, {"data": "def sample(key): ..."}),
        (GOOD, {"__init__": INIT.replace("'loss', ", "")}),
        (GOOD, {"__init__": INIT.replace("['", "['nowhere', '")}),
        (GOOD, {"__init__": f"{INIT}\nfrom jaxtheory.theories.a.data import laws"}),
    ],
)
def test_a_room_of_another_shape_is_seen(files: set[str], sources: dict[str, str]) -> None:
    good = {"data": DATA, "__init__": INIT}
    assert room_faults(GOOD, good) == []
    assert len(room_faults(files, good | sources)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("jaxtheory.ops.draws", "from jaxtheory.core.config import Size\nimport optax"),
        (
            "jaxtheory.engine.sweep",
            "from jaxtheory.core.theory import Theory\nfrom jaxtheory.engine.planning import cost\n"
            "import xarray",
        ),
        (
            "jaxtheory.theories.a.predictions",
            "from jaxtheory.theories.a import calculus, model, training",
        ),
        (
            "jaxtheory.theories.a.checks.model",
            "from jaxtheory.theories.a import model\nfrom jaxtheory.theories.a.checks import "
            "literal",
        ),
        ("jaxtheory.theories.a", "from jaxtheory.theories.a.predictions import metrics"),
        ("jaxtheory.cli.main", "from jaxtheory import theories, sweep\nprint(1)"),
        ("jaxtheory.cli.main", "path.open('rb')\nopen(path, 'wb')\nopen(path, encoding='utf-8')"),
        ("jaxtheory.cli.show", "from jaxtheory.core import docstrings\nprint(1)"),
        (
            "sweeps.a.figure",
            "import jaxtheory\nfrom jaxtheory import Claim\nfrom jaxtheory.theories.a.laws import "
            "rate\nfrom . import last",
        ),
    ],
)
def test_what_is_allowed_passes(module: str, source: str) -> None:
    assert faults(module, source) == []


def test_rooms_have_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {}
    modules = {
        module_name(path): path
        for path in FILES
        if str(path).startswith("jaxtheory/theories/") and len(path.parts) > 3
    }
    for module, path in modules.items():
        names = imports(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        graph[module] = {
            name if name in modules else name.rpartition(".")[0] for name in names
        } & modules.keys() - {module}
    done: set[str] = set()
    while ready := {
        m for m, needs in graph.items() if m not in done and not (needs & graph.keys()) - done
    }:
        done |= ready
    assert graph.keys() - done == set()


UNMIRRORED = ("theories", "llama")  # their tests go by theory, and by what is compared


def mirror_fault(module: Path, tests: set[Path]) -> str | None:
    """Why the tests of a module are not where its path says, or None. Paths are relative to
    jaxtheory and to tests.
    """
    if module.parts[0] in UNMIRRORED or module.name in ("__init__.py", "__main__.py"):
        return None
    wanted = module.with_name(f"test_{module.name}")
    return None if wanted in tests else f"{module} has no tests in tests/{wanted}"


def test_every_module_has_a_test_file_of_its_name() -> None:
    tests = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    modules = [path.relative_to(ROOT / "jaxtheory") for path in (ROOT / "jaxtheory").rglob("*.py")]
    assert [why for module in modules if (why := mirror_fault(module, tests))] == []


def test_a_module_without_a_test_file_is_seen() -> None:
    tests = {Path("core/test_config.py")}
    assert mirror_fault(Path("core/config.py"), tests) is None
    assert mirror_fault(Path("core/__init__.py"), tests) is None
    assert mirror_fault(Path("theories/low_rank/model.py"), tests) is None
    assert mirror_fault(Path("engine/config.py"), tests) is not None
    assert mirror_fault(Path("texts/errors.py"), tests) is not None


def test_there_is_something_to_check() -> None:
    modules = {module_name(path) for path in FILES}
    assert {
        "jaxtheory",
        "jaxtheory.cli.main",
        "jaxtheory.core.config",
        "jaxtheory.engine.sweep",
        "jaxtheory.theories.random_walk",
    } <= modules
    assert any(inside(module, "sweeps.random_walk") for module in modules) and len(ROOMS) == 11


def test_listed_slow_tests_are_there_and_hold_no_path_of_a_machine():
    ids = helpers.slow.listed()
    files = {test.partition("::")[0] for test in ids}
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []
    assert [test for test in sorted(ids) if re.search(r"[\[ =:]/(?!nowhere/)\w+/", test)] == []


def broken_off(tree: ast.Module) -> list[str]:
    """First lines of docstrings that are no whole sentence."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "." for node in ast.walk(tree) if isinstance(node, kinds)]
    first = [text.partition("\n")[0] for text in texts]
    return [line for line in first if not line.endswith((".", "?", "!", ":"))]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_the_first_line_of_a_docstring_is_whole(path: Path) -> None:
    assert broken_off(ast.parse((ROOT / path).read_text(encoding="utf-8"))) == []


def test_a_first_line_that_breaks_off_is_seen() -> None:
    source = '"""A sentence that goes\non."""\ndef f():\n    """A whole one."""'
    assert broken_off(ast.parse(source)) == ["A sentence that goes"]


# Participles, prepositions and pronouns. A value is named by a noun, an action by a verb.
NOT_NAMES = frozenset(
    "above alone along apart asked below beside beyond both each every few found gone given held "
    "here joined kept left made many of other others rest seen several such taken there together "
    "told whole within without written".split()
)
# options of the command line and slots of the contract, which are words that a user types
SPOKEN = frozenset({"along", "every", "given", "several"})


def named_by(tree: ast.Module) -> list[str]:
    """The names of all functions, parameters and variables that a file defines."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    return names


def odd_names(tree: ast.Module) -> list[str]:
    """Those that do not say what they name."""
    return [name for name in named_by(tree) if name.strip("_") in NOT_NAMES - SPOKEN]


def test_names_are_nouns_and_verbs():
    """At most three in a thousand are not."""
    trees = {
        file: ast.parse(file.read_text(encoding="utf-8"))
        for folder in ("jaxtheory", "sweeps", "tests")
        for file in sorted((ROOT / folder).rglob("*.py"))
    }
    odd = [f"{file.name}: {name}" for file, tree in trees.items() for name in odd_names(tree)]
    assert len(odd) <= 0.003 * sum(len(named_by(tree)) for tree in trees.values()), odd
    assert odd_names(ast.parse("def _kept(loss): rest = loss")) == ["_kept", "rest"]
