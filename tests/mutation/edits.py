"""Wrong versions made from the source of a theory: one small edit each, tried on references and
checks.

`edits(module, function)` lists them: an index, a range or a slice one off; a step later; another
axis; mean for sum and back; a factor, a divisor or a term dropped; an arm of a `where`; operands
swapped; abs for a square; < for <=. A wrong version takes the function's place in its module and is
detected ("killed") if an entry of metrics, baselines, analyses or predict then differs from
`tests/reference/THEORY_entries.py`, if the problem and the batch break what it says of them, or if
a check that names the function fails.
"""

import ast
import functools
import importlib
import inspect
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax

import jaxtheory
from jaxtheory.engine.request.settings import numerics

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))
from mutants import Mutant, guarded, notices, replaced

from tests.reference import entries

MEMORY = 2 << 30  # beyond which compiled programs are forgotten
SECONDS = 120  # a wrong version that takes longer does not end
KEYS = {"split", "fold_in", "key"}  # other draws, not other numbers
OTHER = {  # functions of jax.numpy and what is easily written in their place
    "mean": "sum",
    "sum": "mean",
    "nanmean": "nansum",
    "max": "min",
    "min": "max",
    "nanmin": "nanmax",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
    "cumsum": "flip",
    "square": "abs",
    "all": "any",
    "any": "all",
}
IDENTITY = {"abs", "sqrt", "square", "sign", "exp", "log", "cbrt", "conj", "diag"}
FLIPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
STEPS = {"t", "times", "steps", "step", "time"}


class Edit(NamedTuple):
    """A wrong version of a function or constant of a module."""

    module: ModuleType
    function: str
    change: str  # old -> new, with #2 for the second of its kind in the function
    line: int
    tree: ast.stmt


# The edits of a node


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def plus(node: ast.expr, by: int) -> ast.expr:
    if isinstance(node, ast.Constant) and number(node.value):
        return ast.Constant(node.value + by)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.Constant(-node.operand.value + by)
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def constant(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and number(node.value)


def of_operation(node: ast.BinOp) -> Iterator[ast.expr]:
    """Another operation, or one operand alone."""
    first, op, second = node.left, node.op, node.right
    if isinstance(op, ast.Add):
        yield ast.BinOp(first, ast.Sub(), second)
        yield first
    elif isinstance(op, ast.Sub):
        yield first if constant(second) else ast.BinOp(second, ast.Sub(), first)
        yield ast.BinOp(first, ast.Add(), second)
    elif isinstance(op, ast.Mult):
        yield first
        yield second
    elif isinstance(op, ast.Div):
        yield first
        yield ast.BinOp(first, ast.Mult(), second)
    elif isinstance(op, ast.Pow):
        yield ast.Call(ast.Name("abs", ast.Load()), [first], []) if constant(second) else first
    elif isinstance(op, ast.MatMult):
        yield ast.BinOp(second, ast.MatMult(), first)
    elif isinstance(op, ast.Mod):
        yield first
        yield ast.BinOp(first, ast.Mod(), ast.Constant(2))
    elif isinstance(op, (ast.BitAnd, ast.BitOr)):
        yield first
        yield second
    elif isinstance(op, ast.FloorDiv):
        yield ast.BinOp(node, ast.Add(), ast.Constant(1))


def of_call(node: ast.Call) -> Iterator[ast.expr]:
    """An arm of a where, another function, another range, another axis, its argument alone."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "where" and len(node.args) == 3:
        yield ast.Call(node.func, [node.args[0], node.args[1], node.args[1]], [])
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[2]], [])
    if name == "range":
        *start, end = node.args
        yield ast.Call(node.func, [*start, plus(end, -1)], [])
        yield ast.Call(node.func, [*start, plus(end, 1)], [])
    if name in OTHER and isinstance(node.func, ast.Attribute):
        yield ast.Call(
            ast.Attribute(node.func.value, OTHER[name], ast.Load()), node.args, node.keywords
        )
    if name in IDENTITY and len(node.args) == 1:
        yield node.args[0]
    for i, word in enumerate(node.keywords):
        if word.arg in ("axis", "ndmin") and constant(word.value):
            axis = ast.literal_eval(word.value)
            keywords = [*node.keywords]
            keywords[i] = ast.keyword("axis", ast.Constant({0: 1, 1: 0, -1: 0, 2: 1}.get(axis, 0)))
            yield ast.Call(node.func, node.args, keywords)


def of_index(node: ast.Subscript) -> Iterator[ast.expr]:
    """An index one more or less, an end of a slice one off."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def put(i: int, part: ast.expr) -> ast.expr:
        new = [*parts[:i], part, *parts[i + 1 :]]
        inner = ast.Tuple(new, ast.Load()) if isinstance(node.slice, ast.Tuple) else new[0]
        return ast.Subscript(node.value, inner, node.ctx)

    for i, part in enumerate(parts):
        if isinstance(part, ast.Slice):
            for which in ("lower", "upper"):
                end = getattr(part, which)
                if end is None:
                    continue
                for by in (1, -1):
                    if constant(end) and ast.literal_eval(end) + by == 0 and which == "upper":
                        moved = None
                    else:
                        moved = plus(end, by)
                    ends = {"lower": part.lower, "upper": part.upper} | {which: moved}
                    yield put(i, ast.Slice(ends["lower"], ends["upper"], part.step))
        elif constant(part):
            for by in (1, -1):
                yield put(i, plus(part, by))
        elif isinstance(part, ast.Name):
            yield put(i, plus(part, 1))


def of_node(node: ast.AST) -> Iterator[ast.expr]:
    """What may be written in the place of a node by mistake."""
    if isinstance(node, ast.BinOp):
        yield from of_operation(node)
    elif isinstance(node, ast.Call):
        yield from of_call(node)
    elif isinstance(node, ast.Subscript):
        yield from of_index(node)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPS:
        yield ast.Compare(node.left, [FLIPS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert, ast.Not)):
        if not constant(node):
            yield node.operand
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield node.value
    elif isinstance(node, ast.Name) and node.id in STEPS and isinstance(node.ctx, ast.Load):
        yield plus(node, 1)


# The edits of a function


class Places(ast.NodeVisitor):
    """The nodes of a function in which a mistake changes a number: no annotations, no text, no keys
    of draws, no messages of errors.
    """

    def __init__(self) -> None:
        self.found: list[ast.AST] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.arguments, ast.Raise, ast.JoinedStr)):
            return
        name = getattr(
            getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", "")
        )
        if name in KEYS or name in ("fit", "check_shapes"):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.visit(node.value)
            return
        if isinstance(node, ast.FunctionDef):
            for part in node.body:
                self.visit(part)
            return
        self.found.append(node)
        self.generic_visit(node)


def with_other(root: ast.AST, place: ast.AST, new: ast.expr) -> Any:
    """A copy of a tree with a node replaced; the rest is shared."""
    if root is place:
        return new
    changed = {}
    for name, value in ast.iter_fields(root):
        if isinstance(value, ast.AST):
            part = with_other(value, place, new)
        elif isinstance(value, list):
            part = [with_other(v, place, new) if isinstance(v, ast.AST) else v for v in value]
            part = value if all(a is b for a, b in zip(part, value, strict=True)) else part
        else:
            continue
        if part is not value:
            changed[name] = part
    if not changed:
        return root
    return ast.copy_location(type(root)(**dict(ast.iter_fields(root)) | changed), root)


def definitions(module: ModuleType) -> dict[str, ast.stmt]:
    """The functions of a module and its numeric constants, as trees."""
    trees: dict[str, ast.stmt] = {}
    for node in ast.parse(Path(inspect.getfile(module)).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            trees[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            trees |= {name: node} if isinstance(vars(module).get(name), (int, float)) else {}
    return trees


def edits(module: ModuleType, function: str) -> list[Edit]:
    """All wrong versions of a function, or of a numeric constant."""
    root = definitions(module)[function]
    places = Places()
    places.visit(root)
    versions, counts = [], {}
    if isinstance(root, ast.Assign) and constant(root.value):
        changes = [(root.value, plus(root.value, 1))]
    else:
        changes = [(node, new) for node in places.found for new in of_node(node)]
    for node, new in changes:
        old, text = (" ".join(ast.unparse(x).split()) for x in (node, new))
        if old == text:
            continue
        change = f"{old} -> {text}"
        counts[change] = counts.get(change, 0) + 1
        change += f" #{counts[change]}" if counts[change] > 1 else ""
        tree = with_other(root, node, new)
        versions.append(Edit(module, function, change, getattr(node, "lineno", root.lineno), tree))
    return versions


def build(edit: Edit) -> Any:
    """The wrong version itself, which reads the names of its module."""
    tree = ast.fix_missing_locations(ast.Module([edit.tree], []))
    future = "from __future__ import annotations\n"  # annotations are not evaluated
    flags = compile(future, "", "exec").co_flags & 0x1000000
    scope: dict[str, Any] = {}
    code = compile(tree, inspect.getfile(edit.module), "exec", flags=flags, dont_inherit=True)
    exec(code, vars(edit.module), scope)
    return scope[edit.function]


# Trying them


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the main thread after some seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Comparison(NamedTuple):
    """A comparison that raises where it fails, its time, and the lines that it runs, by file."""

    run: Callable[[], None]
    seconds: float = 0.0
    lines: dict[str, set[int]] = {}  # noqa: RUF012  (an immutable default of a NamedTuple)


def comparisons(name: str) -> Iterator[Comparison]:
    """The comparisons of a theory; what each needs of the right version is computed before it."""
    plain = lambda function: function  # jax.jit would compile every wrong version
    for i in range(len(entries.cases(name))):
        yield Comparison(functools.partial(entries.compare_draws, name, i))
        for part in entries.parts(name, i):
            yield Comparison(functools.partial(entries.compare, name, i, part, plain))


def traced(compare: Comparison) -> Comparison:
    """The comparison with its time, once all is compiled, and the lines of theories that it
    runs.
    """
    folder = f"{Path(jaxtheory.__file__).parent}/theories/"
    lines: dict[str, set[int]] = {}

    def local(frame: Any, event: str, _: Any) -> Any:
        lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return local

    def trace(frame: Any, event: str, _: Any) -> Any:
        return local(frame, event, None) if frame.f_code.co_filename.startswith(folder) else None

    sys.settrace(trace)
    try:
        compare.run()
    finally:
        sys.settrace(None)
    begin = time.perf_counter()
    compare.run()
    return Comparison(compare.run, time.perf_counter() - begin, lines)


def all_edits(name: str, compares: list[Comparison]) -> list[tuple[Edit, list[Comparison]]]:
    """The wrong versions of every function that the comparisons run or a check names, each with the
    comparisons that run its statement, the fastest first.
    """
    candidates = []
    named = guarded(jaxtheory.theories.get(name))
    for module_name in sorted(sys.modules):
        if not module_name.startswith(f"jaxtheory.theories.{name}") or ".checks" in module_name:
            continue
        module = sys.modules[module_name]
        file = inspect.getfile(module)
        for function, tree in definitions(module).items():
            for edit in edits(module, function):
                if isinstance(tree, ast.Assign):
                    running = [c for c in compares if names_of(c.lines, function)]
                else:
                    body = set(range(tree.body[0].lineno, tree.end_lineno + 1))
                    run = any(c.lines.get(file, set()) & body for c in compares)
                    if not run and function not in named:
                        break
                    lines = statement(tree, edit.line)
                    running = [c for c in compares if c.lines.get(file, set()) & lines]
                if running or not isinstance(tree, ast.Assign):
                    candidates.append((edit, sorted(running, key=lambda c: c.seconds)))
    return candidates


def names_of(lines: dict[str, set[int]], name: str) -> bool:
    """Whether one of the lines names a constant."""
    return any(name in source(file)[line - 1] for file, ran in lines.items() for line in ran)


@functools.cache
def source(file: str) -> list[str]:
    return Path(file).read_text().splitlines()


def statement(tree: ast.stmt, line: int) -> set[int]:
    """The lines of the smallest statement that has this one."""
    best = set(range(tree.lineno, tree.end_lineno + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            span = set(range(node.lineno, node.end_lineno + 1))
            best = span if len(span) < len(best) else best
    return best


def try_edit(edit: Edit, compares: Iterable[Comparison]) -> Mutant:
    """A wrong version against the references, and then against the checks that name it."""
    function = f"{edit.module.__name__.split('.', 3)[-1]}.{edit.function}"
    try:
        wrong = build(edit)
    except Exception as error:
        return Mutant(function, edit.change, f"it cannot be made: {error!r}")
    for compare in compares:
        try:
            with numerics("float64"), replaced(edit.module, edit.function, wrong), limited(SECONDS):
                compare.run()
        except Exception as error:
            why = " ".join(str(error).split())[:120] or type(error).__name__
            return Mutant(function, edit.change, why)
    theory = jaxtheory.theories.get(edit.module.__name__.split(".")[2])
    try:
        with replaced(edit.module, edit.function, wrong), limited(SECONDS):
            return Mutant(function, edit.change, notices(theory, edit.function))
    except Exception as error:
        return Mutant(function, edit.change, type(error).__name__)


def try_edits(name: str, every: int = 1, shift: int = 0) -> Iterator[Mutant]:
    """One of `every` wrong versions of a theory."""
    with numerics("float64"):
        compares = [traced(compare) for compare in comparisons(name)]
    for edit, running in all_edits(name, compares)[shift::every]:
        mutant = try_edit(edit, running)
        if resident() > MEMORY:  # every wrong loop is compiled
            jax.clear_caches()
        yield mutant


def resident() -> float:
    """The bytes that this process holds in memory; 0 where they cannot be read."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def try_known(name: str, module: str, function: str, change: str) -> Mutant:
    """A wrong version by its name, on the comparisons one after the other."""
    place = importlib.import_module(f"jaxtheory.theories.{name}.{module}")
    edit = next(edit for edit in edits(place, function) if edit.change == change)
    with numerics("float64"):
        compares = list(comparisons(name))
    return try_edit(edit, compares)


def equivalent(name: str) -> dict[str, str]:
    """The wrong versions of a theory, or of the package, that nothing notices, with the reason."""
    return below(f"survivors_{name}.txt")


def past_survivors() -> list[tuple[str, str, str, str]]:
    """The edits that once nothing noticed: theory, module, function, change."""
    rows = []
    for version, name in below("known.txt").items():
        place, _, change = version.partition(": ")
        module, _, function = place.rpartition(".")
        rows.append((name, module, function, change))
    return rows


def below(file: str) -> dict[str, str]:
    """The wrong versions of a file, which has them indented below the line that they map to."""
    versions, head = {}, ""
    path = Path(__file__).with_name(file)
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("    "):
            versions[line.strip()] = head
        elif line.strip():
            head = line.strip()
    return versions
