"""The pages of the reference: names by what one does with them, and a page for each.

`built` are pages that Sphinx writes when it starts, and git ignores.
"""

import ast
import inspect
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

import public

import jaxtheory

FOLDER = Path(__file__).parent / "reference"
VERBS = {
    "Train": (
        *("sweep", "simulate", "Run", "plan", "Progress", "boundary", "above", "below", "diverged"),
        *("cluster", "log"),
    ),
    "Read results": ("open_store", "load_params", "load_problem", "run_key", "merge", "statistics"),
    "Look": ("plot", "plot.optimizers", "explore", "observables"),
    "Judge": (
        *("verify", "compare_gradients", "Comparison", "check_theory", "Check", "testing"),
        *("Claim", "Verdict", "verdict", "exponent", "collapse", "Figure", "claims", "figures"),
    ),
    "Write a theory": (
        *("Theory", "Config", "traced", "static", "size", "Size", "validate", "Algorithm"),
        *("evaluation", "InputError", "from_optax", "OptimizerState", "draws", "linalg"),
        *("attention", "sizes", "max_margin"),
    ),
    "Train networks": ("from_flax", "networks", "Task", "tasks", "theories", "llama"),
}
HEAD = """# Reference

Annotations state shapes: `Float[Array, "B K"]` is a real array with B rows and K columns.
[Formulas of the theories](formulas.md) has the functions of each theory."""
MOST = 6  # figures that a name mentions


def built() -> dict[Path, str]:
    """Return the texts of all pages, by file."""
    names = [name for group in VERBS.values() for name in group]
    return {FOLDER / "index.md": index(), **{place(name): page(name) for name in names}}


def place(name: str) -> Path:
    """Return the file of a name; two names that differ in capitals have different files."""
    return FOLDER / "names" / f"{name}{'-class' * name[0].isupper()}.md"


def thing(name: str) -> object:
    """Return what a name such as `plot.optimizers` is the name of."""
    above, _, last = f"jaxtheory.{name}".rpartition(".")
    return getattr(public.module(above), last, None) or public.module(f"{above}.{last}")


def index() -> str:
    """Return the page with a table of names for each thing that one does."""
    parts = [HEAD]
    for verb, names in VERBS.items():
        rows = [f"| [`{name}`](names/{place(name).name}) | {about(name)} |" for name in names]
        parts += [f"## {verb}", "\n".join(["| name | |", "| --- | --- |", *rows])]
    pages = "\n".join(f"names/{place(name).stem}" for group in VERBS.values() for name in group)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{pages}\n```")
    return "\n\n".join(parts) + "\n"


def about(name: str) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(thing(name)) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", r"\|")


def page(name: str) -> str:
    """Return the page of a function, a class or a module, with the figures that use it."""
    at = thing(name)
    if isinstance(at, ModuleType):
        parts = [f"# `jaxtheory.{name}`", f"```{{eval-rst}}\n.. public:: jaxtheory.{name}\n```"]
        rows = [(word, users(f"{name}.{word}")) for word in public.names(f"jaxtheory.{name}")]
        table = [f"| `{word}` | {figures} |" for word, figures in rows if figures]
        if table:
            parts += ["## Figures that use it", "\n".join(["| name | |", "| --- | --- |", *table])]
        return "\n\n".join(parts) + "\n"
    kind = "autoclass" if inspect.isclass(at) else "autofunction"
    members = "\n   :members:" if inspect.isclass(at) else ""
    lines = f".. {kind}:: jaxtheory.{name}{members}"
    figures = f"\n\nFigures that use it: {users(name)}" if users(name) else ""
    return f"# `jaxtheory.{name}`\n\n```{{eval-rst}}\n{lines}\n```{figures}\n"


def users(name: str) -> str:
    """Return links to the figures whose files use a name."""
    rooms = {figure: known.theory for figure, known in jaxtheory.figures.entries().items()}
    figures = uses()[name.removeprefix("jaxtheory.")]
    links = [f"[{one}](../../gallery/{rooms[one]}.md#{one})" for one in figures[:MOST]]
    more = [f"and {len(figures) - MOST} more"] * (len(figures) > MOST)
    return ", ".join([*links, *more])


@cache
def uses() -> dict[str, list[str]]:
    """Return the figures by the names that their files use, such as `plot.law`."""
    found: dict[str, list[str]] = defaultdict(list)
    for figure, file in jaxtheory.figures.files().items():
        for name in sorted(names_in(ast.parse(file.read_text(encoding="utf-8")))):
            found[name].append(figure)
    return found


def names_in(tree: ast.AST) -> set[str]:
    """Return the names of jaxtheory that a file uses: imported ones, and those behind a dot."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxtheory"):
            above = (node.module or "").removeprefix("jaxtheory").removeprefix(".")
            names |= {f"{above}.{alias.name}".removeprefix(".") for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names.add(ast.unparse(node).removeprefix("jaxtheory."))
    return names
