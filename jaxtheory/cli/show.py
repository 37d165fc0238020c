"""The commands `jaxtheory list` and `jaxtheory show`, which describe theories and figures."""

import dataclasses
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

import jaxtheory
from jaxtheory.cli import terminal
from jaxtheory.cli.terminal import duration, put, table
from jaxtheory.cli.words.arguments import Flag
from jaxtheory.cli.words.parsing import is_of_figures, load_theory, named_figures
from jaxtheory.core import plugins
from jaxtheory.texts.errors import tried

if TYPE_CHECKING:
    from jaxtheory.claims.claim import Claim
    from jaxtheory.claims.figure import Figure
    from jaxtheory.core.theory import Theory

_WIDTH = 110  # columns if the output is not a terminal
_SCREEN = 43  # lines, without the two of the hint at the end
_FEW = 4  # least number of claims on a screen
_EXPECTED = {"holds": "expected to hold", "fails": "expected to fail", None: "open"}
_PREFIX = {"holds": "", "fails": "fails: ", None: "open: "}
_Rows = Sequence[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class List:
    """List the theories and their figures, with the time that each figure takes.

    Of each theory the main figure is shown, and the names of the others.
    """

    all: Flag = False
    """Show all figures."""

    def __call__(self) -> int:
        figures = jaxtheory.figures.entries().values()
        ours, main = list(jaxtheory.theories.names()), jaxtheory.figures.headlines()
        groups = [*ours, *dict.fromkeys(f.theory for f in figures if f.theory not in ours)]
        for group in groups:
            asks = f": {jaxtheory.theories.question(group)}" if group in ours else ""
            own = [figure for figure in figures if figure.theory == group]
            shown = own if self.all else [figure for figure in own if figure.name in main]
            rows = [(figure.name, _time_text(figure.name), figure.question) for figure in shown]
            if rows:
                table(f"{group}{asks}", ("figure", "time", "question"), rows)
            else:
                put(f"{group}{asks}")
            if names := [figure.name for figure in own if figure not in shown]:
                put("\n".join(_wrap(f"  and {len(names)} more: {', '.join(names)}")) + "\n")
        put("" if self.all else "more: jaxtheory list --all")
        for title, group in (("theories", plugins.THEORIES), ("figures", plugins.FIGURES)):
            offers = [
                (name, plugins.package(entry), plugins.question_of_entry(entry))
                for name, entry in plugins.offered(group).items()
            ]
            if offers:
                table(f"{title} of other packages", ("name", "from", "question"), offers)
        return 0


def _time_text(figure: str) -> str:
    """Return the approximate time of a figure, such as 12 s or 3 min, or "" if it is not known."""
    seconds = jaxtheory.figures.seconds(figure)
    return "" if seconds is None else duration(seconds)


@dataclasses.dataclass(frozen=True)
class Show:
    """Describe a theory or a figure, on one screen.

    A theory has fields, metrics, analyses, algorithms and claims.

    A figure has a question, a sweep and claims.
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """Name of a theory or a figure, a FILE.py, or all."""
    all: Flag = False
    """Show everything, with the ranges of the fields and the checks."""

    def __call__(self) -> int:
        theories = {*jaxtheory.theories.names(), *plugins.offered(plugins.THEORIES)}
        if self.name in theories or (self.name.endswith(".py") and not is_of_figures(self.name)):
            _show_theory(self.name, self.all)
        else:
            for figure in named_figures(self.name):
                put("\n".join(_page(*_of_figure(figure, self.all), show_all=self.all)) + "\n")
        return 0


def _show_theory(name: str, show_all: bool) -> None:
    """Print the description of a theory; show_all: with the tables of fields and checks."""
    theory = load_theory(name)
    entries = jaxtheory.figures.entries().values()
    figures = [jaxtheory.figures.get(f.name) for f in entries if f.theory == theory.name]
    if name.endswith(".py") and vars(jaxtheory.theories.load(name)).keys() & {"FIGURE", "FIGURES"}:
        figures += named_figures(name)
    put("\n".join(_page(*_of_theory(theory, figures), show_all=show_all)))
    if not show_all:
        put(f"\nmore: jaxtheory show {name} --all")
        return
    columns = ("name", "symbol", "kind", "default", "range", "meaning")
    table("fields", columns, _field_rows(theory))
    checks = [(c.name, c.source, c.kind, c.tolerance) for c in theory.checks]
    table("checks", ("check", "source", "kind", "tolerance"), checks)


# ------------------------------------------------------------------------------------------- pages


def _page(head: Sequence[str], sections: Mapping[str, _Rows], show_all: bool) -> list[str]:
    """Return the lines of a page: paragraphs, then sections of names and meanings.

    Without show_all a page is cut to a screen. Meanings are cut to a line each, and rows at the
    end of a section to their names, first in the last section.
    """
    top = [line for text in head for line in _wrap(text)]
    full = [*top, *_body(sections, {})]
    if show_all or len(full) <= _SCREEN:
        return full
    sizes = {title: len(rows) for title, rows in sections.items()}
    longest, last = max(sizes.values()), list(sizes)[-1]
    caps = [dict.fromkeys(sizes, longest) | {last: n} for n in range(longest, _FEW, -1)]
    caps += [dict.fromkeys(sizes, n) | {last: _FEW} for n in range(longest, 0, -1)]
    pages = ([*top, *_body(sections, most)] for most in caps)
    return next((lines for lines in pages if len(lines) <= _SCREEN), top)


def _body(sections: Mapping[str, _Rows], most: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines of sections.

    most: the largest number of rows per section, each of one line; the rest is listed by name. If
    it is empty, sections are whole.
    """
    wide = terminal.width(_WIDTH)
    for title, rows in sections.items():
        if not rows:
            continue
        yield from ("", title)
        cut = most.get(title, len(rows))
        shown = rows if len(rows) <= cut + 1 else rows[:cut]
        width = min(max(len(name) for name, _ in shown), 40)
        for name, meaning in shown:
            text = f"  {name.ljust(width)}  {meaning}".rstrip()
            if not most:
                yield from _wrap(text, indent=width + 4)
            else:
                yield text if len(text) <= wide else text[: wide - 1].rstrip() + "…"
        if tail := rows[len(shown) :]:
            names = ", ".join(name.partition("(")[0] for name, _ in tail)
            lines = _wrap(f"  and {len(tail)} more: {names}")
            yield from lines if len(lines) < 4 else [f"  and {len(tail)} more"]


def _wrap(text: str, indent: int = 4) -> list[str]:
    """Break a text into lines that are as wide as the terminal at most."""
    return textwrap.wrap(
        text,
        terminal.width(_WIDTH),
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


# -------------------------------------------------------------------------------------- theories


def _of_theory(theory: "Theory", figures: "Sequence[Figure]") -> tuple[list[str], dict[str, _Rows]]:
    """Return the paragraphs and sections of the page of a theory."""
    import jax.numpy as jnp

    from jaxtheory.core import contract, docstrings
    from jaxtheory.core.config import canonical, fields
    from jaxtheory.core.theory import outputs
    from jaxtheory.reports import wording

    contract.require_contract(theory, canonical(theory.Config(), jnp.result_type(float)))
    meanings = docstrings.variables(theory)
    without_dims = lambda name: name.partition("(")[0]
    place = lambda name: [*meanings, without_dims(name)].index(without_dims(name))  # in docstrings
    shown = tried(theory.name, outputs, theory)
    field_names = [
        f"{f.name} ({f.symbol})" if f.symbol != f.name else f.name
        for f in fields(theory.Config).values()
    ]
    claims = [claim for figure in figures for claim in figure.claims]
    head = [f"{theory.name}: {_about(theory)}", f"fields: {', '.join(field_names)}"]
    sections: dict[str, _Rows] = {
        title: [(name, meanings.get(without_dims(name), "")) for name in sorted(group, key=place)]
        for title, group in shown.items()
    }
    output_names = {without_dims(name) for group in shown.values() for name in group}
    if extras := [name for name in meanings if name not in output_names]:
        sections["described, and not there in the default config"] = [
            (name, meanings[name]) for name in extras
        ]
    sections["algorithms (the first is the default)"] = [*docstrings.algorithms(theory).items()]
    sections[f"claims ({len(claims)}, in {wording.count(len(figures), 'figure')})"] = [
        (claim.id, _PREFIX[claim.expect] + claim.statement) for claim in claims
    ]
    return head, sections


def _about(theory: "Theory") -> str:
    """Return the question of the package or the file that defines a theory."""
    from jaxtheory.core.plugins import question_of_file

    module = theory.Config.__module__
    package = sys.modules.get(module.rpartition(".")[0])
    home = getattr(package, "__file__", None) or sys.modules[module].__file__
    return question_of_file(Path(str(home)))


def _field_rows(theory: "Theory") -> list[tuple]:
    """Return the rows of the table of a theory's fields."""
    from jaxtheory.core.config import fields
    from jaxtheory.core.fields import Interval

    rows = []
    for f in fields(theory.Config).values():
        valid = str(f.valid) if isinstance(f.valid, Interval) else ", ".join(map(str, f.valid))
        rows.append(
            (f.name, f.symbol, f.kind, str(f.default), f"{valid} {f.unit}".strip(), f.meaning)
        )
    return rows


# --------------------------------------------------------------------------------------- figures


def _sentence(claim: "Claim") -> str:
    """Format a claim with its statement, origin, source and expected verdict."""
    source = ", ".join(dict.fromkeys(claim.origin))
    return f"{claim.statement} [{source}; {_EXPECTED[claim.expect]}]"


def _of_figure(figure: "Figure", show_all: bool) -> tuple[list[str], dict[str, _Rows]]:
    """Return the paragraphs and sections of the page of a figure.

    show_all: include the sweep of the quick form.
    """
    from jaxtheory.reports import wording

    head = [
        f"{figure.name}: {wording.question_of(figure)}",
        f"source: {figure.source}",
        f"sweep: {wording.sweep_in_words(figure, False)}",
    ]
    if show_all:
        head.append(f"quick: {wording.sweep_in_words(figure, True)}")
    if time := _time_text(figure.name):
        head.append(f"time: {time}")
    return head, {"claims": [(claim.id, _sentence(claim)) for claim in figure.claims]}
