"""Typeset the formulas of a page while it is built: KaTeX runs here, not in the browser."""

import json
import re
from functools import cache
from html import escape
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


def join(app: Any, page: nodes.document, name: str) -> None:
    """Take the signs around a formula into it, so that no line begins with the comma after it."""
    signs = (("before", -1, r"[(\[“]+$"), ("after", 1, r"^[^\s\w(\[“]+"))
    for node in page.findall(nodes.math):
        for side, step, sign in signs:
            place = node.parent.index(node) + step
            near = node.parent[place] if 0 <= place < len(node.parent) else ""
            match = re.search(sign, str(near)) if isinstance(near, nodes.Text) else None
            if match:
                node[side] = match[0]
                node.parent[place] = nodes.Text(re.sub(sign, "", str(near)))


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line, with the signs that must not be on another line in its boxes.

    A browser may break a line between any two boxes of a formula and beside them.
    """
    formula = html(node.astext(), False)
    before, after = (
        f'<span class="sign">{escape(node[side])}</span>' if side in node else ""
        for side in ("before", "after")
    )
    formula = formula.replace('<span class="katex-base">', f'<span class="katex-base">{before}', 1)
    writer.body.append(re.sub("(</span>){3}$", lambda end: after + end[0], formula))
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
    app.connect("doctree-resolved", join)
