"""Meanings of the names of a theory, read from docstrings.

They are the rows `name   meaning` in the docstrings of `metrics`, `analyses` and `predict`, and of
the modules that define the algorithms.
"""

import ast
import inspect
import re
import sys
import textwrap
from typing import Any

from jaxtheory.core import from_optax
from jaxtheory.core.extended import Extended
from jaxtheory.core.theory import Theory

_NAMES = r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*"
_ROW = re.compile(rf"(?P<names>{_NAMES})(?:: (?P<labels>{_NAMES}))? {{2,}}(?P<meaning>\S.*)")


def meanings(docstring: str | None) -> dict[str, str]:
    """Return the meanings in the rows of a docstring by name, those of curves by `name:label`.

    name            the meaning, which may continue
                    in lines that are indented further than the name
    one, other      one meaning of both, or a meaning for each, separated by semicolons
    loss: law, fit  two curves, which are predictions of the metric `loss`
    """
    descriptions: dict[str, str] = {}
    for names, text in _rows(inspect.cleandoc(docstring or "")):
        parts = text.split("; ")
        texts = parts if len(parts) == len(names) else [text] * len(names)
        descriptions.update(zip(names, texts, strict=True))
    return descriptions


def _rows(text: str) -> list[tuple[list[str], str]]:
    """Return the names and the meaning in each row of a text."""
    rows: list[tuple[list[str], str]] = []
    margin: int | None = None  # indentation of the row that may continue
    for line in text.splitlines():
        inner = line.strip()
        indent = len(line) - len(line.lstrip())
        if margin is not None and inner and indent > margin:
            names, meaning = rows[-1]
            rows[-1] = names, f"{meaning} {inner}"
        elif row := _ROW.fullmatch(inner):
            names, labels = row["names"].split(", "), (row["labels"] or "").split(", ")
            curves = [f"{name}:{label}" if label else name for name in names for label in labels]
            rows.append((curves, row["meaning"]))
            margin = indent
        else:
            margin = None
    return rows


def variables(theory: Theory) -> dict[str, str]:
    """Return the meanings of the variables of a dataset, as far as docstrings contain them."""
    descriptions: dict[str, str] = {}
    for slot in (theory.metrics, theory.analyses):
        if isinstance(slot, Extended):
            descriptions |= {name: sentence(doc(function)) for name, function in slot.observe}
            slot = slot.slot
        descriptions |= meanings(doc(slot))
    for curve, meaning in meanings(doc(theory.predict)).items():
        descriptions["predicted_" + curve.replace(":", "_")] = meaning
    return descriptions


def algorithms(theory: Theory) -> dict[str, str]:
    """Return a description of each algorithm, or "" if there is none.

    It is the row in the docstring of the module of its step, or else the first sentence of the
    docstring of the step.
    """
    standard = meanings(doc(from_optax.standard))
    modules = dict.fromkeys(_function_module(a.step) for a in theory.algorithms.values())
    rows = standard if standard.keys() <= theory.algorithms.keys() else {}
    for name in modules:
        if name != from_optax.__name__:
            rows = rows | meanings(doc(sys.modules.get(name)))
    return {
        name: rows.get(name) or sentence(doc(algorithm.step))
        for name, algorithm in theory.algorithms.items()
    }


def _function_module(function: Any) -> str:
    """Return the name of the module that defines a function."""
    return str(getattr(function, "__module__", ""))


def doc(thing: Any) -> str:
    """Return the docstring of a function or a module.

    With `python -OO`, which removes docstrings, it is read from the source.
    """
    if text := getattr(thing, "__doc__", None):
        return inspect.cleandoc(str(text))
    if sys.flags.optimize < 2:
        return ""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError):  # there is no source, or only part of a line
        return ""
    node = tree if inspect.ismodule(thing) else tree.body[0]
    if not isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
        return ""
    return ast.get_docstring(node) or ""


def sentence(docstring: str) -> str:
    """Return the first sentence of a docstring without its period."""
    first = " ".join(inspect.cleandoc(docstring).partition("\n\n")[0].split())
    return re.split(r"(?<=[^ .])\. ", first)[0].removesuffix(".")
