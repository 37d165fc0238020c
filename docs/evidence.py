"""What docs/verdicts.json and the figures say, as Markdown for the pages.

The pages hold this text between marks, so that they can be read without building them:
`<!-- claims: RW-11 RW-12 -->` to `<!-- end -->` below a heading is what was measured for the
statement in that heading.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jaxtheory
from jaxtheory.claims.interval import ERROR
from jaxtheory.reports import wording
from jaxtheory.reports.records import bound
from jaxtheory.reports.tally import ORIGINS, tally, wrong_verdicts
from jaxtheory.reports.typeset import typeset

DOCS = Path(__file__).parent
DATA, PAGE, INDEX = DOCS / "verdicts.json", DOCS / "verdicts.md", DOCS / "gallery.md"
README = DOCS.parent / "README.md"
GROUP = re.compile(
    r"^(#+) (?P<title>[^\n]+)\n(?:(?!^#+ )[^\n]*\n)*?<!-- claims: (?P<ids>[^>]*?) -->\n"
    r"(?P<text>.*?)<!-- end -->\n",
    re.MULTILINE | re.DOTALL,
)
MARKED = re.compile(r"(<!-- claims: ([^>]*?) -->\n).*?(<!-- end -->\n)", re.DOTALL)
TITLES = {"networks": "Standard Transformers on the tasks", "llama": "Llama checkpoints"}
Found = dict[str, Any]


class Entry(NamedTuple):
    """A claim, the name of its figure and the folder that the figure is in."""

    claim: jaxtheory.Claim
    figure: str
    room: str


@cache
def entries() -> dict[str, Entry]:
    """Return all claims by name, in the order of the figures."""
    rooms = jaxtheory.figures.entries()
    return {
        claim.id: Entry(claim, name, rooms[name].theory)
        for name in rooms
        for claim in jaxtheory.figures.get(name).claims
    }


def load() -> dict[str, Any]:
    """Return what runs have found: "figures" and "claims" by name, "again" under a second key."""
    return json.loads(DATA.read_text(encoding="utf-8"))


def of_theories(found: dict[str, Any]) -> dict[str, Found]:
    """Return the claims on theories alone, without networks and Llamas."""
    known = jaxtheory.theories.names()
    return {
        name: found["claims"][name]
        for name, entry in entries().items()
        if entry.room in known and name in found["claims"]
    }


def escaped(text: str) -> str:
    """Return a text in which no sign has a meaning in Markdown."""
    return re.sub(r"([\\`*_\[\]<>|$~])", r"\\\1", text)


def claim(name: str, found: dict[str, Any], with_figure: bool) -> str:
    """Return one claim: its sentence, what was measured, and the verdict."""
    entry, measured = entries()[name], found["claims"].get(name)
    kind = entry.claim.origin.kind
    record = measured or {"decision": "not tested", "finding": "not run yet", "outcome": ""}
    facts = [f"bound {bound(entry.claim.bound)}"] if measured else []
    differs = " (not as expected)" if record["outcome"] == "differs" else ""
    where = f"; [`{entry.figure}`](gallery/{entry.room}.md#{entry.figure})" * with_figure
    why = f" *{typeset(entry.claim.why, escaped)}*" if entry.claim.why else ""
    attributes = f'data-theory="{entry.room}" data-origin="{kind}"'
    attributes += f' data-verdict="{record["decision"]}"'
    return "\n\n".join(
        (
            f'<div class="claim" id="{name.lower()}" {attributes}>',
            f"**{name}**, {kind}: {typeset(entry.claim.statement, escaped)}{why}",
            f"**{record['finding']}**{differs}{details(record, facts)}{where}",
            *again(name, found),
            "</div>",
        )
    )


def again(name: str, found: dict[str, Any]) -> list[str]:
    """Return what was measured under a second key, if it was."""
    second = found["again"].get(name)
    return [f"**{second['finding']}**, key {second['key']}{details(second, [])}"] if second else []


def details(measured: Found, facts: list[str]) -> str:
    """Return what was measured for a claim, with further facts, behind a colon."""
    if "measured" not in measured:
        return ""
    seeds = wording.seeds(measured)
    parts = [wording.measured(measured), *facts, f"{seeds} seeds" * bool(seeds)]
    return f": {escaped('; '.join(filter(None, parts)))}"


def sources(names: Iterable[str], found: dict[str, Any]) -> list[str]:
    """Return a line for each figure behind some claims: its command, picture, code and numbers."""
    figures = dict.fromkeys((entries()[name].figure, entries()[name].room) for name in names)
    return [source(figure, room, "", found) for figure, room in figures]


def source(figure: str, room: str, up: str, found: dict[str, Any]) -> str:
    """Return the command that makes a figure again, and links to its code and numbers."""
    command = found["figures"].get(figure, {}).get("command", "jaxtheory run all")
    parts = [f"`{re.sub(r'run [^ ]+', f'run {figure}', command)}`"]
    if not up:  # a page of the gallery shows the picture itself
        parts.append(f"[picture](gallery/{room}.md#{figure})")
    parts.append(f"[code]({up}../sweeps/{room}/{figure}.py)")
    if (DOCS / "gallery" / f"{figure}.csv.gz").is_file():
        parts.append(f"[numbers]({up}gallery/{figure}.csv.gz)")
    return " · ".join(parts)


def fill(text: str, found: dict[str, Any]) -> str:
    """Return a page with what was measured for the claims that its marks name."""

    def filled(mark: re.Match[str]) -> str:
        names = mark[2].split()
        blocks = [claim(name, found, False) for name in names]
        body = "\n\n".join([*blocks, "\\\n".join(sources(names, found))])
        return f"{mark[1]}\n{body}\n\n{mark[3]}"

    return MARKED.sub(filled, text)


def groups(room: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (statement, claims) of a theory's page: its headings above marks."""
    page = DOCS / f"{room}.md"
    for group in GROUP.finditer(page.read_text(encoding="utf-8")):
        yield group["title"], group["ids"].split()


def gallery(room: str, found: dict[str, Any]) -> str:
    """Return the page of all figures of a folder."""
    title = TITLES.get(room, f"Figures of `{room}`")
    parts = [f"# {title}"]
    for name, known in jaxtheory.figures.entries().items():
        if known.theory != room:
            continue
        figure = jaxtheory.figures.get(name)
        facts = found["figures"].get(name)
        parts += [f"## {name}", wording.question_of(figure)]
        if (DOCS / "gallery" / f"{name}.webp").is_file():
            parts.append(f"![{alt(name)}]({name}.webp)")
        parts.append(source(name, room, "../", found))
        if facts:
            parts.append(f"*Settings*: {escaped(facts['setup'])}.")
        parts += [claim(item.id, found, False) for item in figure.claims]
    return "\n\n".join(parts) + "\n"


def alt(name: str) -> str:
    """Return the text for those who cannot see a picture."""
    return escaped(f"Figure {name}: {wording.question_of(jaxtheory.figures.get(name))}")


def index() -> str:
    """Return the page with all figures as small pictures, each with its question."""
    rooms = dict.fromkeys(known.theory for known in jaxtheory.figures.entries().values())
    parts = ["# Gallery", "Each picture leads to its claims, its numbers and its code."]
    for room in rooms:
        parts += [f"## {TITLES.get(room, f'`{room}`')}", '<div class="thumbnails">']
        for name, known in jaxtheory.figures.entries().items():
            if known.theory == room and (DOCS / "gallery" / f"{name}.webp").is_file():
                question = wording.question_of(jaxtheory.figures.get(name))
                picture = f"[![{alt(name)}](gallery/{name}.webp)](gallery/{room}.md#{name})"
                parts += ['<div class="thumbnail">', picture, escaped(question), "</div>"]
        parts.append("</div>")
    pages = "\n".join(f"gallery/{room}" for room in rooms)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{pages}\n```")
    return "\n\n".join(parts) + "\n"


def sentence(claims: dict[str, Found]) -> str:
    """Return the sentence on the expected number of wrong verdicts."""
    records = claims.values()
    return (
        f"A verdict is wrong with probability 1 % at most: of {tally(records).decided} verdicts, "
        f"{wrong_verdicts(records, ERROR):.2g} are expected to be."
    )


HEAD = """# Verdicts

Origin: *printed* is a sentence of the source, quoted in “ ”; *interpretation* is our version of a
sentence that gives no numbers, or only an order of magnitude; *derived* is a statement of ours.
Only a printed sentence is "refuted" without more. A claim holds or fails where the 99 % confidence
interval, in brackets behind the measured number, lies on that side of the bound, and is
*undecided* otherwise; a claim on each run has no interval but a number of exceptions
([how](decisions/0032-intervals.md)). {wrong}
The claims are in the order of the statements on the theories' pages.
[Standard Transformers](gallery/networks.md) and [Llamas](gallery/llama.md) have their own pages.

{counts}

Found by {commands}."""


def counts(claims: dict[str, Found]) -> str:
    """Return a table of the number of claims for each origin and decision."""
    lines = ["| origin | claims | hold | fail | open |", "|---|---|---|---|---|"]
    for origin in ORIGINS:
        number = tally(claims.values(), origin)
        cells = origin, number.total, number.holds, number.fails, number.total - number.decided
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def verdicts(found: dict[str, Any]) -> str:
    """Return the page of all verdicts on theories, by the statement that they are about."""
    claims = of_theories(found)
    known = jaxtheory.theories.names()
    commands = {
        re.sub(r"run \w+", "run all", facts["command"])
        for name, facts in found["figures"].items()
        if jaxtheory.figures.entries()[name].theory in known
    }
    command = ", ".join(f"`{text}`" for text in sorted(commands))
    parts = [HEAD.format(wrong=sentence(claims), counts=counts(claims), commands=command)]
    for room in known:
        parts.append(f"## {room}")
        members = []
        for title, names in groups(room):
            parts += [f"### {title}", *(claim(name, found, True) for name in names)]
            members += names
        remaining = [name for name, entry in entries().items() if entry.room == room]
        if remaining := [name for name in remaining if name not in members]:
            parts += ["### Other claims"] * bool(members)
            parts += [claim(name, found, True) for name in remaining]
    return "\n\n".join(parts) + "\n"


def readme(text: str, found: dict[str, Any]) -> str:
    """Return the text of the README with the counts."""
    claims = of_theories(found)
    text = re.sub(r"All \d+ verdicts", f"All {len(claims)} verdicts", text)
    text = re.sub(r"all \d+ figures", f"all {len(jaxtheory.figures.entries())} figures", text)
    text = re.sub(
        r"A verdict is wrong with probability.*?to be\.", sentence(claims), text, flags=re.S
    )
    for room in jaxtheory.theories.names():
        records = [claims[name] for name in claims if entries()[name].room == room]
        cells = " | ".join(str(tally(records, origin)) for origin in ORIGINS[:2])
        row = rf"(^\| \[`{room}`\].*?\|.*?\|) [^|]* \| [^|]* \|"
        text = re.sub(row, lambda mark, cells=cells: f"{mark[1]} {cells} |", text, flags=re.M)
    return text


def pages(found: dict[str, Any]) -> dict[Path, str]:
    """Return the texts of all files that hold verdicts, by file."""
    rooms = dict.fromkeys(known.theory for known in jaxtheory.figures.entries().values())
    texts = {
        file: fill(file.read_text(encoding="utf-8"), found) for file in sorted(DOCS.glob("*.md"))
    }
    texts |= {DOCS / "gallery" / f"{room}.md": gallery(room, found) for room in rooms}
    texts |= {PAGE: verdicts(found), INDEX: index()}
    texts[README] = readme(README.read_text(encoding="utf-8"), found)
    return texts
