"""Short forms of records for a terminal and a notebook: a title and a few rows, not the arrays.

A record with a face has the method `_face`, which returns the title and the rows by name, and takes
`__repr__` and `_repr_html_` from here.
"""

import html
from collections.abc import Mapping
from typing import Any, Protocol

import jax
import numpy as np

_WIDTH, _LINES = 100, 10  # of a text


class HasFace(Protocol):
    """A record with a face."""

    def _face(self) -> tuple[str, Mapping[str, str]]: ...


def as_text(record: HasFace) -> str:
    """Return the face of a record as at most ten lines."""
    title, rows = record._face()
    rows = {name: text for name, text in rows.items() if text}
    width = max(map(len, rows), default=0)
    lines = [title, *(f"  {name.ljust(width)}  {text}" for name, text in rows.items())]
    if len(lines) > _LINES:
        lines[_LINES - 1 :] = [f"  and {len(lines) - _LINES + 1} more"]
    return "\n".join(_cut(line) for line in lines)


def as_html(record: HasFace) -> str:
    """Return the face of a record as a table of a notebook."""
    title, rows = record._face()
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in rows.items()
        if text
    )
    return f"<strong>{html.escape(title)}</strong><table>{cells}</table>"


def describe_arrays(tree: Any) -> str:
    """Return the names and shapes of the arrays of a pytree, such as "V (6, 6), w (97,)"."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    names = (jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves)
    return ", ".join(
        f"{name} {np.shape(leaf)}".strip() for name, (_, leaf) in zip(names, leaves, strict=True)
    )


def describe_value(value: Any) -> str:
    """Return a value as Python writes it, and an array by its type and shape."""
    if isinstance(value, np.ndarray | np.generic | jax.Array) and not isinstance(
        value, jax.core.Tracer
    ):
        if np.ndim(value) or jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            return f"{value.dtype}{list(np.shape(value))}"
        value = float(f"{value.item():.7g}") if value.dtype.kind == "f" else value.item()
    return repr(value)


def _cut(line: str) -> str:
    """Return a line of at most _WIDTH characters."""
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1].rstrip() + "…"
