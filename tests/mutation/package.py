"""Wrong versions of the package outside theories, one small edit each, tried on its own tests.

The edits are those of `edits.py` and, for code that decides rather than computes: a condition that
never or always holds, `and` for `or`, a statement left out, True for False. A wrong version is
written into a copy of this checkout and is detected ("killed") if a test of its own folder then
fails: of tests/claims for jaxtheory/claims, first those that `make test` runs, then all.
"""

import ast
import functools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import edits

ROOT = Path(__file__).parents[2]
FOLDERS = ("engine", "networks", "tasks", "claims", "observables", "llama")
SECONDS = 900  # a wrong version for which the tests of a folder take longer does not end


class Wrong(NamedTuple):
    """An edit of a file: the bytes from `start` to `stop` become `new`."""

    file: str
    function: str
    change: str
    start: int
    stop: int
    new: str

    @property
    def name(self) -> str:
        return f"{self.file.removeprefix('jaxtheory/')}:{self.function}: {self.change}"


class Places(edits.Places):
    """Also the statements and conditions of a function."""

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        super().visit(node)


def changes(node: ast.AST) -> Iterator[str]:
    """The mistakes that replace a node, as text."""
    yield from (f"({ast.unparse(new)})" for new in edits.of_node(node))
    if isinstance(node, ast.BoolOp):
        operation = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"({ast.unparse(ast.BoolOp(operation, node.values))})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
        yield "pass"


def conditions(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The condition of a node, always true and always false."""
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, "True"
        yield node.test, "False"


@functools.cache
def of_file(file: str) -> list[Wrong]:
    """All wrong versions of a file."""
    text = (ROOT / file).read_bytes()
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    at = lambda line, column: offsets[line - 1] + column
    versions: list[Wrong] = []
    for name, function in functions(ast.parse(text)):
        places = Places()
        places.visit(function)
        counts: dict[str, int] = {}
        for node in places.found:
            replacements = [(node, new) for new in changes(node)] + list(conditions(node))
            for place, new in replacements:
                old = " ".join(ast.unparse(place).split())
                if old == new.strip("()") or not hasattr(place, "lineno"):
                    continue
                change = f"{old[:80]} -> {' '.join(new.split())[:80]}"
                counts[change] = counts.get(change, 0) + 1
                change += f" #{counts[change]}" if counts[change] > 1 else ""
                ends = (
                    at(place.lineno, place.col_offset),
                    at(place.end_lineno, place.end_col_offset),
                )
                versions.append(Wrong(file, name, change, *ends, new))
    return versions


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions of a module and the methods of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", part


def sample(folder: str, number: int, seed: int) -> list[Wrong]:
    """Some wrong versions of a folder, or of a module of that name."""
    place = ROOT / "jaxtheory" / folder
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    versions = [wrong for file in files for wrong in of_file(str(file.relative_to(ROOT)))]
    return random.Random(seed).sample(versions, min(number, len(versions)))


def own_tests(file: str) -> list[list[str]]:
    """The tests of a file: those named as it is, and those of its folder."""
    inside = Path(file).relative_to("jaxtheory")
    named = Path("tests") / inside.parent / f"test_{inside.name}"
    folder = named.parent if len(inside.parts) > 1 else named
    near = [str(named)] if (ROOT / named).exists() and named != folder else []
    return [paths for paths in (near, [str(folder)]) if paths]


def copied(folder: Path) -> None:
    """Copy the files of this checkout that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def killer(wrong: Wrong, copy: Path) -> str | None:
    """The run of tests that fails with a wrong version ("default" or "all"), or None."""
    place = copy / wrong.file
    text = place.read_bytes()
    place.write_bytes(text[: wrong.start] + wrong.new.encode() + text[wrong.stop :])
    near = own_tests(wrong.file)
    runs = [*(("default", paths) for paths in near), ("all", ["--all", *near[-1]])]
    try:
        for label, arguments in runs:
            if fails(copy, arguments):
                return label
    finally:
        place.write_bytes(text)
    return None


def fails(copy: Path, arguments: list[str]) -> bool:
    """True if a test fails, or the tests cannot be loaded or do not end."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    own = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=own, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)  # 5: no test was selected


def tried(folder: str, number: int, seed: int) -> Iterator[tuple[Wrong, str | None]]:
    """Wrong versions of a folder, each with what noticed it."""
    with tempfile.TemporaryDirectory() as place:
        copied(copy := Path(place))
        for wrong in sample(folder, number, seed):
            yield wrong, killer(wrong, copy)
