"""How Sphinx builds the pages: `make docs`."""

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import direction
import evidence
import first_look
import public
import reference_pages
import verdict_map

import jaxtheory
from jaxtheory import figures
from jaxtheory.core.config import Config, fields

project, author, release = "jaxtheory", "The jaxtheory authors", jaxtheory.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "formulas"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "katex"
html_static_path, html_css_files, html_js_files = (
    ["_static"],
    ["style.css"],
    ["verdicts.js", "direction.js"],
)
exclude_patterns = ["_build", "examples", "first-look.ipynb"]
html_theme, html_title = "furo", f"jaxtheory {release}"
html_favicon = "_static/icon.svg"
ABOUT = "Small transformers of learning theory in JAX: does training do what each theorem says?"
myst_html_meta = {"description": ABOUT, "property=og:title": "jaxtheory"}
myst_html_meta |= {"property=og:description": ABOUT, "property=og:type": "website"}
html_theme_options = {"navigation_with_keys": True}
html_show_copyright = html_copy_source = html_show_sourcelink = False
highlight_language = "none"
smartquotes = False
myst_heading_anchors = 3
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 88
# notebooks type `jaxtheory` as its users do
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ |= {"COLUMNS": "90", "TERM": "dumb"}
# notebooks are executed in a temporary folder, again where they or the code have changed; a failure
# is said, fails the build and leaves the other pages
ROOMS = {file.parent for file in figures.files().values()}
CODE = sorted(
    {*Path(jaxtheory.__file__).parent.rglob("*.py"), *(f for r in ROOMS for f in r.glob("*.py"))}
)
CODE.append(evidence.DOCS.parent / "constraints.txt")
CODE_HASH = hashlib.sha256(b"".join(file.read_bytes() for file in CODE)).hexdigest()[:16]
nb_execution_mode = "cache"
nb_execution_cache_path = str(evidence.DOCS / "_build" / "notebooks" / CODE_HASH)
nb_execution_in_temp = True
nb_execution_timeout = 1200
nb_merge_streams = True
nb_output_stderr = "remove"  # the progress bars of sweeps


def docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Convert a docstring; the fields of a Config follow its own."""
    lines[:] = public.plain(lines)
    if what == "class" and issubclass(thing, Config) and thing is not Config:
        rows = [
            f"{field.name} ({field.symbol}): {field.meaning}" for field in fields(thing).values()
        ]
        lines += [part for row in rows for part in (f"- {public.escaped(row)}", "")]


def signature(
    app: Any,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    given: str | None,
    returned: str | None,
) -> tuple[str, str | None] | None:
    """Show a function that is a default value by its name."""
    return given and (re.sub(r"<function (?:\w+\.)*(\w+|<lambda>)>", r"\1", given), returned)


def skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Skip the fields of a NamedTuple, which its signature shows, and the `replace` of a config."""
    return True if type(thing).__name__ == "_tuplegetter" or name == "replace" else None


def source(app: Any, page: str, text: list[str]) -> None:
    """Replace the marks of a page by what they stand for, and links that differ on the site."""
    text[0] = evidence.on_site(page, public.expand(text[0]))
    text[0] = direction.on_site(verdict_map.on_site(text[0]))
    text[0] = first_look.on_site(text[0])


def generate(app: Any) -> None:
    """Write the pages that git ignores, and remove those of figures that are no more."""
    texts = evidence.built(evidence.load()) | reference_pages.built()
    (reference_pages.FOLDER / "names").mkdir(exist_ok=True)
    evidence.write(texts)
    for folder in (evidence.DOCS / "gallery", reference_pages.FOLDER / "names"):
        for file in folder.glob("*.md"):
            if file not in texts:
                file.unlink()


def again(app: Any, *pages: Any) -> list[str]:
    """Read the page of verdicts again at every build: its text is in the figures."""
    return [evidence.PAGE.stem]


def setup(app: Any) -> None:
    """Connect the functions above to Sphinx."""
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    app.connect("source-read", source)
    app.connect("builder-inited", generate)
    app.connect("env-get-outdated", again)
