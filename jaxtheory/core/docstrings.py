"""What the names of a theory mean, read from docstrings: rows `name   meaning` in those of
`metrics`, `analyses` and `predict`, and of the modules that the algorithms stand in.
"""

import ast
import inspect
import re
import sys
import textwrap
from typing import Any

from jaxtheory.core import from_optax
from jaxtheory.core.theory import Theory

_NAMES = r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*"
_ROW = re.compile(rf"(?P<names>{_NAMES})(?:: (?P<labels>{_NAMES}))? {{2,}}(?P<meaning>\S.*)")


def _meanings(docstring: str | None) -> dict[str, str]:
    """Meaning by name, of the rows of a docstring; of a curve by `name:label`.

    name            meaning, which may go on
                    in lines that are further in than the name
    one, other      what both are; or of each its own, as many as there are names
    loss: law, fit  two curves, predictions of the metric `loss`
    """
    found: dict[str, str] = {}
    for names, text in _rows(inspect.cleandoc(docstring or "")):
        parts = text.split("; ")
        each = parts if len(parts) == len(names) else [text] * len(names)
        found.update(zip(names, each, strict=True))
    return found


def _rows(text: str) -> list[tuple[list[str], str]]:
    """Names and meaning of each row of a text."""
    found: list[tuple[list[str], str]] = []
    margin: int | None = None  # of the row that may go on
    for line in text.splitlines():
        inner = line.strip()
        indent = len(line) - len(line.lstrip())
        if margin is not None and inner and indent > margin:
            names, said = found[-1]
            found[-1] = names, f"{said} {inner}"
        elif row := _ROW.fullmatch(inner):
            names, labels = row["names"].split(", "), (row["labels"] or "").split(", ")
            curves = [f"{name}:{label}" if label else name for name in names for label in labels]
            found.append((curves, row["meaning"]))
            margin = indent
        else:
            margin = None
    return found


def variables(theory: Theory) -> dict[str, str]:
    """What the variables of a dataset of this theory mean, as far as its docstrings say."""
    found = _meanings(doc(theory.metrics)) | _meanings(doc(theory.analyses))
    for curve, meaning in _meanings(doc(theory.predict)).items():
        found["predicted_" + curve.replace(":", "_")] = meaning
    return found


def algorithms(theory: Theory) -> dict[str, str]:
    """What each algorithm does: its row in the docstring of the module of its step, or the first
    sentence of the step's docstring; "" where neither says.
    """
    standard = _meanings(doc(from_optax.standard))
    modules = dict.fromkeys(_function_module(a.step) for a in theory.algorithms.values())
    known = standard if standard.keys() <= theory.algorithms.keys() else {}
    for name in modules:
        if name != from_optax.__name__:
            known = known | _meanings(doc(sys.modules.get(name)))
    return {
        name: known.get(name) or _sentence(doc(algorithm.step))
        for name, algorithm in theory.algorithms.items()
    }


def _function_module(function: Any) -> str:
    """The name of the module that a function stands in."""
    return str(getattr(function, "__module__", ""))


def doc(thing: Any) -> str:
    """The own docstring of a function or a module; read from its source where Python runs with -OO,
    which removes docstrings.
    """
    if found := getattr(thing, "__doc__", None):
        return inspect.cleandoc(str(found))
    if sys.flags.optimize < 2:
        return ""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError):  # no source, or a part of a line
        return ""
    node = tree if inspect.ismodule(thing) else tree.body[0]
    if not isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
        return ""
    return ast.get_docstring(node) or ""


def _sentence(docstring: str) -> str:
    """The first sentence of a docstring, without its full stop."""
    first = " ".join(inspect.cleandoc(docstring).partition("\n\n")[0].split())
    return re.split(r"(?<=[^ .])\. ", first)[0].removesuffix(".")
