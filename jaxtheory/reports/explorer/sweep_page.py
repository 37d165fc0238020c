"""The page of one sweep: its text as a single HTML file that needs no network.

All that comes from a dataset is a block of JSON, which the script of the page shows as text. The
content security policy allows that script and plotly.js, each by its hash, and no request.
"""

import json
from pathlib import Path
from typing import Any

from jaxtheory.reports.explorer.content import ENTRIES, Content, Sweep, content
from jaxtheory.reports.explorer.library import allowed, library

LARGEST = 30_000_000  # bytes of a page at most
_HERE = Path(__file__).parent
_SCRIPTS = ("data", "view", "figure", "curves", "heat", "export", "controls", "main")


def page(sweep: Sweep) -> str:
    """Return the page of a sweep, of at most `LARGEST` bytes.

    If it would be larger, fewer numbers are kept. Raises InputError if the dataset has no variable
    of numbers, or if plotly.js is not installed.
    """
    library()  # fails before the dataset is read
    entries = ENTRIES
    while True:
        text = _fill(content(sweep, entries))
        if len(text) <= LARGEST or entries < 1 << 10:  # all characters are ASCII
            return text
        entries //= 2


def _fill(shown: Content) -> str:
    """Fill the template."""
    script = "\n".join(_read(f"{name}.js") for name in _SCRIPTS)
    return render(
        "page.html.jinja",
        title=f"{shown.about['name']}: {shown.about['theory']}",
        about=as_script(shown.about),
        arrays=shown.arrays,
        library=library(),
        script=script,
        policy=policy(script.encode(), library().allowed),
    )


def render(template: str, **values: Any) -> str:
    """Return a template of this folder, filled and in ASCII; values are escaped as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    text = environment.get_template(template).render(css=_read("page.css"), **values)
    return text.encode("ascii", "xmlcharrefreplace").decode()


def policy(script: bytes, *sources: str) -> str:
    """Return a content security policy that allows a script, by its hash, and no request."""
    scripts = " ".join([allowed(script), *sources])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def as_script(value: Any) -> str:
    """Return JSON that may stand in a script element: no character ends it or begins a comment."""
    text = json.dumps(value, allow_nan=False)
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
