"""What docs/verdicts.json and the figures say, as Markdown for the pages.

`pages` are files in git, which can be read without building them. `<!-- claims: RW-11 RW-12 -->` to
`<!-- end -->` below a heading is what was measured for the statement in that heading. `built` are
the gallery's pages, which Sphinx writes when it starts, and `on_site` is a page as Sphinx reads it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import findings

import jaxtheory
from jaxtheory.claims import Finding
from jaxtheory.reports import wording
from jaxtheory.reports.run_files import bound
from jaxtheory.reports.strip import strip
from jaxtheory.reports.tally import ORIGINS, tally
from jaxtheory.reports.typeset import typeset

DOCS = Path(__file__).parent
DATA, PAGE, INDEX = DOCS / "verdicts.json", DOCS / "verdicts.md", DOCS / "gallery.md"
README, FIRST = DOCS.parent / "README.md", DOCS / "index.md"
GROUP = re.compile(
    r"^(#+) (?P<title>[^\n]+)\n(?:(?!^#+ )[^\n]*\n)*?<!-- claims: (?P<ids>[^>]*?) -->\n"
    r"(?P<text>.*?)<!-- end -->\n",
    re.MULTILINE | re.DOTALL,
)
MARKED = re.compile(r"(<!-- claims: ([^>]*?) -->\n).*?(<!-- end -->\n)", re.DOTALL)
# Two keys at which nobody had looked before a figure's claims were as they are: the first pair, and
# of figures that were made or changed after a look at these, a later one; ladders have their own.
KEYS, LATER, OF_LADDERS = (31847, 59263), (20749, 96157), (41183, 68917)
CHANGED = (
    *("graph_lengths", "graph_sticky", "graph_strength"),
    *("diversity_context", "diversity_dimension", "diversity_dropped_weight"),
    *("diversity_transition", "regression_drop_times", "regression_fixed_points"),
    *("regression_in_weight", "regression_minimum", "regression_shifts", "regression_staircase"),
    *("recall_stages", "recall_times", "recall_capacity", "recall_zipf"),
    *("semantic_transition", "semantic_energy", "semantic_start"),
)
BLOCK = re.compile(r'<div (class="claim" id="([^"]+)"[^>]*)>\n(.*?)\n</div>', re.DOTALL)
TO_CLAIM = re.compile(r"\[([A-Z]+-\d+)\]\(((?:\.\./)?[\w-]+)\.md(#[a-z]+-\d+)\)")
STATED = re.compile(
    r"(<!-- (found|card|keys|ladder|table): ?(\w*) -->\n).*?(<!-- end -->\n)", re.DOTALL
)
BUILT = re.compile(r"<!-- built:(.*?) -->")  # a text that is on the built page alone
ARXIV = re.compile(r"\[(arXiv [\d.]+)\]")
PICTURE = re.compile(r"(?<!!)\[([^\[\]]*)\]\(((?:\.\./)?gallery)/(\w+)\.webp\)")  # a link to one
TITLES = {"networks": "Standard Transformers on the tasks", "llama": "Llama checkpoints"}
PAGES = {"networks": "networks-ladders", "llama": "real-models"}  # other names than the folder's
Found = dict[str, Any]


def keys(figure: str) -> tuple[int, int]:
    """Return the two keys under which the claims of a figure are judged."""
    if rooms()[figure] == "networks":
        return OF_LADDERS
    return LATER if figure in CHANGED else KEYS


class Entry(NamedTuple):
    """A claim, the name of its figure and the folder that the figure is in."""

    claim: jaxtheory.Claim
    figure: str
    room: str


@cache
def rooms() -> dict[str, str]:
    """Return the folder of each figure."""
    return {name: known.theory for name, known in jaxtheory.figures.entries().items()}


@cache
def entries() -> dict[str, Entry]:
    """Return all claims by name, in the order of the figures."""
    return {
        claim.id: Entry(claim, name, room)
        for name, room in rooms().items()
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
    differs = " (not as expected)" if record["outcome"] == "differs" else ""
    where = f"; [`{entry.figure}`](gallery/{entry.room}.md#{entry.figure})" * with_figure
    why = f" *{typeset(entry.claim.why, escaped)}*" if entry.claim.why else ""
    attributes = f'data-theory="{entry.room}" data-origin="{kind}"'
    attributes += f' data-verdict="{record["decision"]}"'
    return "\n\n".join(
        (
            f'<div class="claim" id="{name.lower()}" {attributes}>',
            f"**{name}**, {kind}: {typeset(entry.claim.statement, escaped)}{why}",
            f"**{record['finding']}**{differs}{details(name, record)}{where}",
            *again(name, found),
            "</div>",
        )
    )


def again(name: str, found: dict[str, Any]) -> list[str]:
    """Return what was measured under a second key, if it was."""
    if (second := found["again"].get(name)) is None:
        return []
    return [f"**{second['finding']}**, key {second['key']}{details(name, second)}"]


def details(name: str, measured: Found) -> str:
    """Return what was measured and claimed, behind a colon."""
    if "measured" not in measured:
        return ""
    claim = entries()[name].claim
    stated = {"number": claim.number, "bound": bound(claim.bound), "law": claim.law}
    return f": {typeset(wording.line(measured | stated), escaped)}"


def is_borne_out(finding: Finding, found: dict[str, Any]) -> bool:
    """Return whether the claims of a finding came out as expected under each key that was run."""
    return all(
        finding.is_borne_out({name: record["outcome"] for name, record in under.items()})
        for under in (found["claims"], found["claims"] | found["again"])
    )


def stated(finding: Finding, found: dict[str, Any]) -> str:
    """Return the sentence of a finding, and that it is undecided if one of its claims is."""
    sentence = typeset(finding.text, escaped)
    return sentence if is_borne_out(finding, found) else f"{sentence} (undecided)"


def linked(finding: Finding, found: dict[str, Any], up: str = "") -> str:
    """Return the sentence of a finding with links to its claims."""
    claims = ", ".join(f"[{name}]({up}{place_of(name)})" for name in finding.rests_on)
    return f"{stated(finding, found)} ({claims})."


def place_of(name: str) -> str:
    """Return the link to a claim from a page in the folder docs."""
    return f"{page(entries()[name].room).name}#{name.lower()}"


def told(kind: str, room: str, found: dict[str, Any]) -> str:
    """Return the findings that a mark asks for.

    found: the paragraph of a theory's page; card: its first sentence; keys: how many are decided;
    ladder: those on networks, a list for one theory, else a table of all; table: that of README.
    """
    if kind == "found":
        sentences = (linked(finding, found) for finding in findings.THEORIES[room])
        return f"**Finding.** {' '.join(sentences)}"
    if kind == "keys":
        return under_both(found)
    if kind == "card":
        return f"{stated(findings.THEORIES[room][0], found)}."
    if kind == "ladder" and room:
        return "\n".join(f"- {linked(finding, found)}" for finding in findings.LADDERS[room])
    if kind == "ladder":
        rows = ["| data of | found |", "|---|---|"]
        for name in findings.LADDERS:
            rows += [f"| `{name}` | {linked(one, found)} |" for one in findings.LADDERS[name]]
        return "\n".join(rows)
    rows = ["| theory | found | [in a small Transformer](docs/networks-ladders.md) |"]
    rows.append("| --- | --- | --- |")
    for name in jaxtheory.theories.names():
        ladder = [stated(finding, found) for finding in findings.LADDERS.get(name, ())[:1]]
        paper = ARXIV.search(page(name).read_text(encoding="utf-8"))
        theory = f"[`{name}`](docs/{page(name).name})" + f" ({paper[1]})" * bool(paper)
        cells = theory, stated(findings.THEORIES[name][0], found), *(ladder or ["not judged"])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def under_both(found: dict[str, Any]) -> str:
    """Return how many claims were judged under both keys by the rule, decided, and disagree."""
    judged = [name for name, entry in entries().items() if not entry.claim.example]
    first, second = found["claims"], found["again"]
    by_rule = [name for name in judged if "satisfied" in first.get(name, {})]
    both = [name for name in by_rule if "satisfied" in second.get(name, {})]
    pairs = [{first[name]["decision"], second[name]["decision"]} for name in both]
    decided = [pair for pair in pairs if "undecided" not in pair]
    return (
        f"Of {len(judged)} claims {len(by_rule)} have been judged by this rule under a key at "
        f"which nobody had looked before, and {len(both)} under a second one too: "
        f"{len(decided)} are decided under both, of which "
        f"{sum(len(pair) > 1 for pair in decided)} disagree."
    )


def with_findings(text: str, found: dict[str, Any]) -> str:
    """Return a text with the findings that its marks ask for."""
    return STATED.sub(lambda mark: f"{mark[1]}\n{told(mark[2], mark[3], found)}\n\n{mark[4]}", text)


def figures(names: Iterable[str]) -> dict[str, str]:
    """Return the folders of the figures behind some claims, by figure."""
    return {entries()[name].figure: entries()[name].room for name in names}


def picture(figure: str, folder: str) -> str:
    """Return the picture of a figure, or an empty text if there is none."""
    file = DOCS / "gallery" / f"{figure}.webp"
    return f"![{alt(figure)}]({folder}{file.name})" if file.is_file() else ""


def source(figure: str, room: str, up: str, found: dict[str, Any]) -> str:
    """Return the command that makes a figure again, and links to its code and numbers."""
    command = found["figures"].get(figure, {}).get("command", "jaxtheory run all")
    parts = [f"`{re.sub(r'run [^ ]+', f'run {figure}', command)}`"]
    if not up:  # a page of the gallery shows the picture itself
        parts.append(f"[picture](gallery/{figure}.webp)")
    parts.append(f"[code]({up}../sweeps/{room}/{figure}.py)")
    if (DOCS / "gallery" / f"{figure}.csv.gz").is_file():
        parts.append(f"[numbers]({up}gallery/{figure}.csv.gz)")
    return " · ".join(parts)


def settings(figure: str, found: dict[str, Any]) -> str:
    """Return how a figure was run, or an empty text if it was not."""
    facts = found["figures"].get(figure)
    if not facts:
        return ""
    made = f", at commit {facts['commit']}" if facts.get("commit") else ""
    words = f"{escaped(facts['setup'])}{made}."
    return f"<details>\n<summary>Settings of {figure}</summary>\n\n{words}\n\n</details>"


def caption(figure: str, found: dict[str, Any]) -> str:
    """Return what the lines, bands, cells and marks of a picture are, or an empty text."""
    text = found["figures"].get(figure, {}).get("caption", "")
    words = f"`{figure}`: {typeset(text, escaped)}"
    return f'<div class="caption">\n\n{words}\n\n</div>' if text else ""


def fill(text: str, found: dict[str, Any]) -> str:
    """Return a page with what was measured for the claims that its marks name.

    A picture that the page has at no other place stands below the first claims of its figure.
    """
    pictures = set(re.findall(r"!\[.*?\]\(gallery/(\w+)\.webp\)", MARKED.sub("", text)))

    def filled(mark: re.Match[str]) -> str:
        names = mark[2].split()
        behind = figures(names)
        blocks = [claim(name, found, False) for name in names]
        blocks += [picture(figure, "gallery/") for figure in behind if figure not in pictures]
        blocks += [caption(figure, found) for figure in behind]
        blocks += ["\\\n".join(source(*figure, "", found) for figure in behind.items())]
        blocks += [settings(figure, found) for figure in behind]
        pictures.update(behind)
        body = "\n\n".join(filter(None, blocks))
        return f"{mark[1]}\n{body}\n\n{mark[3]}"

    return MARKED.sub(filled, with_findings(text, found))


def page(room: str) -> Path:
    """Return the page of a folder of figures."""
    return DOCS / f"{PAGES.get(room, room)}.md"


def groups(room: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (statement, claims) of a theory's page: its headings above marks."""
    for group in GROUP.finditer(page(room).read_text(encoding="utf-8")):
        yield group["title"], group["ids"].split()


def gallery(room: str, found: dict[str, Any]) -> str:
    """Return the page of all figures of a folder."""
    title = TITLES.get(room, f"Figures of `{room}`")
    parts = [f"# {title}"]
    for name in [name for name, own in rooms().items() if own == room]:
        figure = jaxtheory.figures.get(name)
        parts += [f"## {name}", wording.question_of(figure)]
        if figure.finding:
            parts.append(linked(figure.finding, found, "../"))
        parts += [picture(name, ""), caption(name, found), source(name, room, "../", found)]
        parts.append(settings(name, found))
        parts += [claim(item.id, found, False) for item in figure.claims]
    return "\n\n".join(filter(None, parts)) + "\n"


def alt(name: str) -> str:
    """Return the text for those who cannot see a picture."""
    return escaped(f"Figure {name}: {about(name)}")


def about(name: str) -> str:
    """Return what a figure shows in a sentence: its finding, or else its question."""
    figure = jaxtheory.figures.get(name)
    return f"{figure.finding}." if figure.finding else wording.question_of(figure)


def thumbnail(figure: str) -> str:
    """Return the small picture of a figure, one of its panels, or an empty text."""
    file = DOCS / "gallery" / "small" / f"{figure}.webp"
    if file.is_file():
        return f"![{alt(figure)}](gallery/small/{file.name})"
    return picture(figure, "gallery/")


def outcomes(figure: str, found: dict[str, Any]) -> str:
    """Return how many claims of a figure hold, fail or are open, in signs."""
    names = [claim.id for claim in jaxtheory.figures.get(figure).claims]
    decisions = [found["claims"][name]["decision"] for name in names if name in found["claims"]]
    counts = {sign: decisions.count(word) for word, sign in wording.SIGNS.items()}
    return " ".join(f"{sign} {n}" for sign, n in counts.items() if n)


def index(found: dict[str, Any]) -> str:
    """Return the page with all figures as small pictures: the finding and the verdicts of each."""
    parts = ["# Gallery", "Each picture leads to its claims, its numbers and its code."]
    for room in dict.fromkeys(rooms().values()):
        parts += [f"## {TITLES.get(room, f'`{room}`')}", '<div class="thumbnails">']
        for name, own in rooms().items():
            if own == room and (small := thumbnail(name)):
                link = f"[{small}](gallery/{room}.md#{name})"
                words = escaped(about(name)), outcomes(name, found)
                parts += ['<div class="thumbnail">', link, *filter(None, words), "</div>"]
        parts.append("</div>")
    pages = "\n".join(f"gallery/{room}" for room in dict.fromkeys(rooms().values()))
    parts.append(f"```{{toctree}}\n:hidden:\n\n{pages}\n```")
    return "\n\n".join(parts) + "\n"


HEAD = """# Verdicts

Origin: *printed* is a sentence of the source, quoted in “ ”; *interpretation* is our version of a
sentence that gives no numbers, or only an order of magnitude; *derived* is a statement of ours.
Only a printed sentence is "refuted" without more. {rule} ([Derivation](evidence.md).)

The claims are in the order of the statements on the theories' pages.
[Standard Transformers](networks-ladders.md) and [Llamas](real-models.md) have their own pages.

![Each claim as a square: those that hold, fail or are undecided, printed ones first](map.svg)

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


def head(found: dict[str, Any]) -> str:
    """Return what both pages of verdicts begin with."""
    claims = of_theories(found)
    known = jaxtheory.theories.names()
    commands = {
        re.sub(r"run \w+", "run all", facts["command"])
        for name, facts in found["figures"].items()
        if rooms()[name] in known
    }
    command = ", ".join(f"`{text}`" for text in sorted(commands))
    return HEAD.format(rule=wording.RULE, counts=counts(claims), commands=command)


def verdicts(found: dict[str, Any]) -> str:
    """Return the built page of all verdicts on theories, by the statement that they are about."""
    parts = [head(found)]
    for room in jaxtheory.theories.names():
        parts.append(f"## {room}")
        for title, names in groups(room):
            parts += [f"### {title}", *(claim(name, found, True) for name in names)]
    return "\n\n".join(parts) + "\n"


def short(found: dict[str, Any]) -> str:
    """Return the page of all verdicts on theories in git: a row for each, without its sentence."""
    about = (
        "A claim leads to its sentence and bound. `make docs` builds this page with all of them."
    )
    parts = [head(found), about]
    for room in jaxtheory.theories.names():
        rows = ["| about | claim | verdict | measured |", "|---|---|---|---|"]
        for title, names in groups(room):
            titles = [title.replace("|", r"\|"), *[""] * (len(names) - 1)]
            rows += [row(*pair, found) for pair in zip(titles, names, strict=True)]
        parts += [f"## {room}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def row(title: str, name: str, found: dict[str, Any]) -> str:
    """Return one claim as a row of a table, with the statement that it is about if it is first."""
    record = found["claims"].get(name, {"decision": "not tested", "finding": "not run yet"})
    verdict = f"{wording.SIGNS[record['decision']]} {record['finding']}"
    number = escaped(wording.measured(record)) if "measured" in record else ""
    return f"| {title} | [{name}]({place_of(name)}) | {verdict} | {number} |"


def readme(text: str, found: dict[str, Any]) -> str:
    """Return the text of the README with the findings and the counts."""
    text = re.sub(r"All \d+ verdicts", f"All {len(of_theories(found))} verdicts", text)
    text = re.sub(r"all \d+ figures", f"all {len(rooms())} figures", text)
    return with_findings(text, found)


def pages(found: dict[str, Any]) -> dict[Path, str]:
    """Return the texts of all files in git that hold verdicts, by file."""
    files = sorted({page(entry.room) for entry in entries().values()})
    texts = {file: fill(file.read_text(encoding="utf-8"), found) for file in files}
    texts |= {PAGE: short(found), README: readme(README.read_text(encoding="utf-8"), found)}
    texts[FIRST] = with_findings(FIRST.read_text(encoding="utf-8"), found)
    return texts


def built(found: dict[str, Any]) -> dict[Path, str]:
    """Return the texts of the pages that git ignores and the build makes, by file."""
    texts = {
        DOCS / "gallery" / f"{room}.md": gallery(room, found)
        for room in dict.fromkeys(rooms().values())
    }
    return texts | {INDEX: index(found)}


def on_site(name: str, text: str) -> str:
    """Return a page as Sphinx reads it.

    That of verdicts has all of them, claims are folded and have a picture of their number, links to
    pictures lead to the gallery, and those to claims to their places, which are HTML.
    """
    found = load()
    if name == PAGE.stem:
        text = verdicts(found)
    text = TO_CLAIM.sub(r'<a href="\2.html\3">\1</a>', text)
    text = BLOCK.sub(lambda block: folded(block[2].upper(), block[1], block[3], found), text)
    return PICTURE.sub(
        lambda link: f"[{link[1]}]({link[2]}/{rooms()[link[3]]}.md#{link[3]})",
        BUILT.sub(r"\1", text),
    )


def folded(name: str, attributes: str, text: str, found: dict[str, Any]) -> str:
    """Return a claim with what was measured in one line, which opens to its sentence.

    One that is printed or fails is open.
    """
    record = found["claims"].get(name)
    if record is None:
        return f"<div {attributes}>\n{text}\n</div>"
    printed = entries()[name].claim.origin.kind == "printed"
    is_open = " open" if printed or record["decision"] == "fails" else ""
    sign = wording.SIGNS[record["decision"]]
    line = f"{sign} **{name}** {record['finding']}{details(name, record)}"
    head = f"<summary>\n{pictured(name, found)}\n{line}\n\n</summary>"
    return f"<details {attributes}{is_open}>\n{head}\n{text}\n</details>"


def pictured(name: str, found: dict[str, Any]) -> str:
    """Return a line with the picture of a verdict, or nothing if there is none."""
    record = found["claims"].get(name, {}) | {"bound": bound(entries()[name].claim.bound)}
    return f"{drawn}\n" if (drawn := strip(record)) else ""


def write(texts: dict[Path, str]) -> None:
    """Write files whose text differs, so that Sphinx reads no page again without a reason."""
    for file, text in texts.items():
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
