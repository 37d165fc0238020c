"""Formulas in sentences of claims, which are plain text, as HTML: x_{i*}, Pi^T, t^(-1/3)."""

import html
import re
from collections.abc import Callable

_NAMES = "alpha beta gamma delta epsilon eta kappa lambda mu pi rho sigma tau xi".split()
_CAPITALS = "Delta Lambda Omega Pi Theta".split()
_LETTERS = dict(zip([*_NAMES, *_CAPITALS], "αβγδεηκλμπρστξΔΛΩΠΘ", strict=True))
_GREEK = "".join(_LETTERS.values())
_IN_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"
_SCRIPT = re.compile(
    rf"(?:\^|(?<=[\w)])(?<![^\W\d_Δ][^\W\d_])_)"
    rf"(\{{[^}}]*\}}|{_IN_PARENTHESES}|-?\d+(?:\.\d+)?|-?[A-Za-z{_GREEK}]+\*?|\*)"
)


def typeset(sentence: str, escape: Callable[[str], str] = html.escape) -> str:
    """Return a sentence with Greek letters, subscripts and superscripts in HTML.

    Args:
        sentence: Plain text, such as "|Delta_A|^2 grows as t^(-1/3)".
        escape: What makes the rest of the text safe on its page.

    Returns:
        HTML, or Markdown with HTML in it if `escape` is for Markdown.

    Example:
        >>> typeset("s_(R+1) of W_Q falls as xi1^(-1/3)")
        's<sub>R+1</sub> of W<sub>Q</sub> falls as ξ<sub>1</sub><sup>−1/3</sup>'
    """
    tags = {"_": "sub", "^": "sup"}
    return _set(sentence, escape, lambda sign, inner: f"<{tags[sign]}>{inner}</{tags[sign]}>")


def mathtext(sentence: str) -> str:
    """Return a sentence with subscripts and superscripts in the notation of matplotlib.

    Args:
        sentence: Plain text, such as "the error falls as t^(-1/3)".

    Example:
        >>> mathtext("s_(R+1) of W_Q falls as t^(-1/3)")
        's$_{R+1}$ of W$_{Q}$ falls as t$^{−1/3}$'
    """
    plain = lambda text: text.replace("$", r"\$")
    return _set(sentence, plain, lambda sign, inner: f"${sign}{{{inner.replace('$', '')}}}$")


def _set(sentence: str, escape: Callable[[str], str], script: Callable[[str, str], str]) -> str:
    """Return a sentence whose scripts are as script(sign, text) writes them; sign is _ or ^."""
    text = re.sub(rf"\\?\b({'|'.join(_LETTERS)})(\d?)(?=[\W_\d]|$)", _letter, sentence)
    text = re.sub(r"\bsqrt(?:(?=\()| )", "√", text.replace("<=", "≤").replace(">=", "≥"))
    parts, end = [], 0
    for match in _SCRIPT.finditer(text):
        inner = match[1][1:-1] if match[1][0] in "{(" else match[1]
        inner = _set(inner.replace("-", "−"), escape, script)
        sign = "_" if match[0][0] == "_" else "^"
        parts += [escape(text[end : match.start()]), script(sign, inner)]
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def _letter(match: re.Match[str]) -> str:
    return _LETTERS[match[1]] + f"_{match[2]}" * bool(match[2])
