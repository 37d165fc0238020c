"""A figure as the text of one file, with what it imports from the files beside it."""

import ast
import dataclasses
import re
import symtable
import sys
from pathlib import Path

from jaxtheory.texts.errors import InputError

_WIDTH = 100  # columns of a line of imports


@dataclasses.dataclass(frozen=True)
class _Part:
    """A statement at the top of a file, with the comment above it."""

    text: str
    block: bool  # a function or a class, which blank lines surround
    defines: frozenset[str]
    reads: frozenset[str]


@dataclasses.dataclass(frozen=True)
class _Source:
    """A file.

    imports: for each name that it imports, the module and the name in it, or "" for a whole module.
    siblings: the same for imports from files beside it, which are named in place of modules.
    """

    docstring: str
    imports: dict[str, tuple[str, str]]
    siblings: dict[str, tuple[Path, str]]
    parts: list[_Part]


def one_file(file: Path, old: str, new: str) -> str:
    """Return the text of a figure, with the definitions that it takes from the files beside it.

    Args:
        file: The file of the figure.
        old: The name of the figure.
        new: The name that it gets.

    Raises:
        InputError: A definition is missing.
    """
    figure = _read(file)
    shared, imports, aliases = _definitions_beside(figure)
    defined = {name for part in figure.parts for name in part.defines}
    shared = [_without(part, defined & {n for s in shared for n in s.defines}) for part in shared]
    own = re.sub(rf"(\bname=)([\"']){old}\2", rf"\1\g<2>{new}\2", _join(figure.parts))
    head = [figure.docstring, _import_lines(imports | figure.imports)]
    if shared:
        words = f"# shared with other figures of {file.parent.name}"
        renamed = "\n".join(f"{name} = {its}" for name, its in aliases.items())
        head.append("\n\n\n".join(filter(None, [f"{words}\n{_join(shared)}", renamed])))
    return "\n\n".join(filter(None, head)) + f"\n\n\n{own}\n"


def _read(file: Path) -> _Source:
    text = file.read_text(encoding="utf-8")
    lines, tree = text.splitlines(), ast.parse(text)
    imports: dict[str, tuple[str, str]] = {}
    siblings: dict[str, tuple[Path, str]] = {}
    docstring, parts, above = "", [], 0
    for node in tree.body:
        if isinstance(node, ast.Import):
            imports |= {n.asname or n.name.partition(".")[0]: (n.name, "") for n in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imports |= {n.asname or n.name: (str(node.module), n.name) for n in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = file.parents[node.level - 1].joinpath(*(node.module or "__init__").split("."))
            target = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
            siblings |= {n.asname or n.name: (target, n.name) for n in node.names}
        elif node is tree.body[0] and ast.get_docstring(tree) is not None:
            docstring = "\n".join(lines[: node.end_lineno])
        else:
            parts.append(_part(node, lines, above))
        above = node.end_lineno or 0
    return _Source(docstring, imports, siblings, parts)


def _part(node: ast.stmt, lines: list[str], previous_end: int) -> _Part:
    """A statement; previous_end: the number of lines up to the end of the one before it."""
    first = min(node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ())), node.lineno)
    while first - 1 > previous_end and lines[first - 2].startswith("#"):
        first -= 1
    block = isinstance(node, ast.FunctionDef | ast.ClassDef)
    targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
    defines = {part.id for t in targets for part in ast.walk(t) if isinstance(part, ast.Name)}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        defines = {node.name}
    text = "\n".join(lines[first - 1 : node.end_lineno])
    return _Part(text, block, frozenset(defines), frozenset(_global_reads(text)))


def _global_reads(text: str) -> set[str]:
    """The names that a statement takes from its file, without parameters and local variables."""

    def names(scope: symtable.SymbolTable) -> set[str]:
        top = scope.get_type() == "module"
        own = {
            s.get_name()
            for s in scope.get_symbols()
            if s.is_referenced() and (top or s.is_global())
        }
        return own.union(*map(names, scope.get_children()))

    return names(symtable.symtable(text, "figure", "exec"))


def _definitions_beside(
    figure: _Source,
) -> tuple[list[_Part], dict[str, tuple[str, str]], dict[str, str]]:
    """The definitions that a figure takes from the files beside it.

    With them the imports that they need, and other names under which they are used.
    """
    sources: dict[Path, _Source] = {}
    needed: dict[Path, set[int]] = {}
    imports: dict[str, tuple[str, str]] = {}
    aliases: dict[str, str] = {}

    def take(source: _Source, name: str) -> None:
        if name in source.siblings:
            file, its = source.siblings[name]
            aliases.update({name: its} if name != its else {})
            if not file.is_file():
                raise InputError(f"{file}: no such file; copy the figure by hand")
            sibling = sources.setdefault(file, _read(file))
            places = {i for i, part in enumerate(sibling.parts) if its in part.defines}
            if its in sibling.siblings:
                take(sibling, its)
            elif its in sibling.imports:
                imports[name] = sibling.imports[its]
            elif not places:
                raise InputError(f"{file}: defines no {its}; copy the figure by hand")
            new = places - needed.setdefault(file, set())
            needed[file] |= places
            for read in sorted({read for i in new for read in sibling.parts[i].reads}):
                local = {i for i, part in enumerate(sibling.parts) if read in part.defines}
                if local - needed[file]:
                    take(dataclasses.replace(sibling, siblings={read: (file, read)}), read)
                elif read in sibling.siblings:
                    take(sibling, read)
                elif read in sibling.imports:
                    imports[read] = sibling.imports[read]

    for name in figure.siblings:
        take(figure, name)
    order = sorted(sources, key=lambda file: len(_reached(sources, file)))
    return [sources[f].parts[i] for f in order for i in sorted(needed[f])], imports, aliases


def _reached(sources: dict[Path, _Source], file: Path) -> set[Path]:
    """The files that a file imports from, directly or not, and itself."""
    files = {file}
    for target, _ in sources[file].siblings.values():
        if target in sources and target not in files:
            files |= _reached(sources, target)
    return files


def _without(part: _Part, names: set[str]) -> _Part:
    """The part with other words for names that the figure itself defines."""
    text = part.text
    for name in names:
        new = f"SHARED_{name}" if name.isupper() else f"shared_{name}"
        text = re.sub(rf"(?<![\w.]){name}(?!\w)", new, text)
    return dataclasses.replace(part, text=text)


def _join(parts: list[_Part]) -> str:
    """The texts of statements, with blank lines around functions and classes."""
    text, before = "", None
    for part in parts:
        gap = "\n\n\n" if before and (before.block or part.block) else "\n" * bool(before)
        text, before = f"{text}{gap}{part.text}", part
    return text


def _import_lines(imports: dict[str, tuple[str, str]]) -> str:
    """Import statements: the standard library, other libraries, jaxtheory."""
    groups: list[dict[str, list[str]]] = [{}, {}, {}]
    for name, (module, its) in imports.items():
        top = module.partition(".")[0]
        group = groups[0 if top in sys.stdlib_module_names else 2 if top == "jaxtheory" else 1]
        alias = f" as {name}" if name != (its or top) else ""
        line = f"import {module}{alias}" if not its else f"from {module} import"
        group.setdefault(line, []).extend([f"{its}{alias}"] * bool(its))
    blocks = []
    for group in groups:
        order = sorted(group, key=lambda line: (line.startswith("from"), line))
        blocks += ["\n".join(_wrapped(line, sorted(group[line])) for line in order)] * bool(order)
    return "\n\n".join(blocks)


def _wrapped(line: str, names: list[str]) -> str:
    statement = f"{line} {', '.join(names)}".rstrip()
    if len(statement) <= _WIDTH:
        return statement
    return "\n".join([f"{line} (", *(f"    {name}," for name in names), ")"])
