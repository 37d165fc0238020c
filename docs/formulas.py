"""Typeset the formulas of a page while it is built: KaTeX runs here, not in the browser."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from py_mini_racer import MiniRacer

KATEX = Path(__file__).parent / "_static" / "katex" / "katex.min.js"
MACROS = {
    r"\E": r"\mathbb{E}",
    r"\R": r"\mathbb{R}",
    r"\tr": r"\operatorname{tr}",
    r"\softmax": r"\operatorname{softmax}",
    r"\relu": r"\operatorname{relu}",
    r"\sign": r"\operatorname{sign}",
    r"\diag": r"\operatorname{diag}",
    r"\argmin": r"\operatorname*{arg\,min}",
    r"\argmax": r"\operatorname*{arg\,max}",
    r"\norm": r"\lVert #1\rVert",
    r"\abs": r"\lvert #1\rvert",
}


@cache
def engine() -> MiniRacer:
    """Return a JavaScript engine in which KaTeX is loaded."""
    racer = MiniRacer()
    racer.eval(KATEX.read_text(encoding="utf-8"))
    return racer


@cache
def html(formula: str, display: bool) -> str:
    """Return a TeX formula as HTML, with MathML in it for screen readers.

    A formula that KaTeX cannot read raises `py_mini_racer.JSEvalException`.
    """
    options = {"displayMode": display, "strict": "error", "macros": MACROS}
    call = f"katex.renderToString({json.dumps(formula)}, {json.dumps(options)})"
    return str(engine().eval(call))


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(html(node.astext(), False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, which scroll sideways where they do not fit."""
    scrolled = f'<div class="formula" tabindex="0">{html(node.astext(), True)}</div>'
    writer.body.append(scrolled)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Make Sphinx use these functions for formulas."""
    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.add_css_file("katex/katex.min.css")
