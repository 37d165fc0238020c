"""Formulas in the notation of matplotlib as plain text."""

import re
import unicodedata

_SIGNS = {"sqrt": "√", "propto": "∝", "top": "T", "|": "‖", ",": " ", "rm": "", "mathrm": ""}
_SIGNS |= {"infty": "∞", "approx": "≈", "times": "×", "cdot": "·", "leq": "≤", "geq": "≥"}


def plain(text: str) -> str:
    r"""Return a text with its formulas between dollar signs in plain letters.

    Example:
        >>> plain(r"the law $\alpha_A \propto t^{-1/3}$ of $\|A - Q\|_\mu$")
        'the law α_A ∝ t^(-1/3) of ‖A - Q‖_μ'
    """
    parts = text.split("$")
    parts[1::2] = map(_formula, parts[1::2])
    return "".join(parts)


def _formula(formula: str) -> str:
    formula = re.sub(r"\\([a-zA-Z]+|.)", lambda command: _letter(command[1]), formula)
    formula = re.sub(r"(?<=[_^√])\{ *(..+?)\}", r"(\1)", formula)
    return re.sub(r"[{}]", "", formula)


def _letter(name: str) -> str:
    """Return the sign or the Greek letter of a command, or else the name of its function."""
    kind = "CAPITAL" if name[0].isupper() else "SMALL"
    greek = f"GREEK {kind} LETTER {name.removeprefix('var').upper()}"
    try:
        return _SIGNS[name] if name in _SIGNS else unicodedata.lookup(greek)
    except KeyError:
        return name
