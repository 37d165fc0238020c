"""Write docs/verdicts.md and the counts in the README from what `jaxtheory run all` has stored.

`make verdicts ARGS="--key K"` runs python docs/verdicts.py --key K [--store DIR]. It is an error if
a figure has not been run under the key. `--ladders K L` writes instead the table of the figures of
`sweeps/networks` under these keys into docs/networks-ladders.md.
"""

import argparse
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jaxtheory
from jaxtheory.claims.interval import ERROR
from jaxtheory.reports import wording
from jaxtheory.reports.record import read_record
from jaxtheory.reports.records import bound, stem
from jaxtheory.reports.tally import ORIGINS, tally, wrong_verdicts

PAGE = Path(__file__).with_name("verdicts.md")
LADDERS, MARK = Path(__file__).with_name("networks-ladders.md"), "<!-- verdicts -->"
README = Path(__file__).parents[1] / "README.md"
HEAD = """# Verdicts

Written by `make verdicts` from what `{command}` found, on {cores} CPU cores, CPython {python}, jax
{jax}.

Origin: *printed* is a sentence of the source, quoted in “ ”; *interpretation* is our version of a
sentence that gives no numbers, or only an order of magnitude; *derived* is a statement of ours.
Only a printed sentence is "refuted" without more. A claim holds or fails where the 99 % confidence
interval, which is behind the measured number, lies on that side of the bound, and is *undecided*
otherwise; "each" has no interval but a number of exceptions
([how](decisions/0032-intervals.md)). n is the number of seeds that have a value. {wrong}
The claims on Llamas are in [real models](real-models.md).
"""
WRONG = (
    "A verdict is wrong with probability 1 % at most: of {decided} verdicts, {wrong:.2g} are "
    "expected to be."
)
NEWER = "Figures that are newer than this page have no verdict here: "
_Rows = list[tuple[str, jaxtheory.Claim]]


def entries() -> _Rows:
    """Return (figure, claim) for all claims of the theories, in the order of the figures."""
    figures = map(jaxtheory.figures.get, jaxtheory.figures.entries())
    return [(f.name, claim) for f in figures if not f.experiment for claim in f.claims]


def rungs() -> _Rows:
    """Return (figure, claim) for all claims on networks, in the order of the figures."""
    found = jaxtheory.figures.entries()
    figures = [jaxtheory.figures.get(name) for name in found if found[name].theory == "networks"]
    return [(f.name, claim) for f in figures for claim in f.claims]


def newer(text: str) -> list[str]:
    """Return the figures that a page names as newer than itself, until `make verdicts` writes it
    again.
    """
    _, _, rest = text.partition(NEWER)
    return re.findall(r"`(\w+)`", rest.partition("\n\n")[0])


def stored(store: Path, key: int) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the stored verdicts under a key, by claim, and the command that made them."""
    found: dict[str, dict[str, Any]] = {}
    commands = set()
    for figure in dict.fromkeys(name for name, _ in entries()):
        file = stem(store, figure, key).with_suffix(".json")
        if not file.is_file():
            command = f"jaxtheory run {figure} --key {key} --store {store}"
            raise FileNotFoundError(f"{file}: run {command}")
        record = read_record(file)
        found |= record["claims"]
        commands.add(record["command"].replace(f"run {figure}", "run all"))
    return found, "; ".join(sorted(commands))


def counts(verdicts: dict[str, dict[str, Any]]) -> list[str]:
    """Return a table of the number of claims for each origin and decision."""
    lines = [
        "| origin | claims | hold | fail | undecided | not tested |",
        "|---|---|---|---|---|---|",
    ]
    for origin in ORIGINS:
        found = tally(verdicts.values(), origin)
        lines.append(f"| {origin} | {found.total} | {' | '.join(map(str, found))} |")
    return lines


def of(figure: str, claim: jaxtheory.Claim) -> list[str]:
    """Return the cells of a row that do not depend on measurements."""
    statement = " ".join(filter(None, (claim.statement, f"*{claim.why}*" * bool(claim.why))))
    cells = [
        claim.id,
        figure,
        claim.origin.kind,
        statement,
        claim.expect or "open",
        bound(claim.bound),
    ]
    return [cell.replace("|", "\\|") for cell in cells]


def sentence(verdicts: dict[str, dict[str, Any]]) -> str:
    """Return the sentence on the expected number of wrong verdicts."""
    claims = verdicts.values()
    return WRONG.format(decided=tally(claims).decided, wrong=wrong_verdicts(claims, ERROR))


def page(key: int, store: Path) -> str:
    """Return the whole page."""
    verdicts, command = stored(store, key)
    head = HEAD.format(
        command=command,
        cores=os.cpu_count(),
        python=platform.python_version(),
        jax=version("jax"),
        wrong=sentence(verdicts),
    )
    columns = [
        "claim",
        "figure",
        "origin",
        "statement",
        "expected",
        "bound",
        "n",
        "measured",
        "verdict",
    ]
    rule = "|---" * len(columns) + "|"
    lines = [head, *counts(verdicts), "", f"| {' | '.join(columns)} |", rule]
    for figure, claim in entries():
        found = verdicts[claim.id]
        differs = " (differs)" if found["outcome"] == "differs" else ""
        cells = [*of(figure, claim), wording.seeds(found)]
        cells += [wording.measured(found), found["finding"] + differs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def ladders(keys: list[int], store: Path) -> str:
    """Return the table of the claims on networks under some keys."""
    head = ["claim", "figure", "statement", "bound"]
    head += [f"{word} (key {key})" for key in keys for word in ("measured", "verdict")]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for figure, claim in rungs():
        name, _, _, statement, _, limit = of(figure, claim)
        cells = [name, figure, statement, limit]
        for key in keys:
            file = stem(store, figure, key).with_suffix(".json")
            if not file.is_file():
                cells += ["-", "not run"]
                continue
            found = read_record(file)["claims"][claim.id]
            cells += [wording.measured(found), found["finding"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def readme(text: str, verdicts: dict[str, dict[str, Any]]) -> str:
    """Return the text of the README with the counts under a key."""
    theories = jaxtheory.figures.entries()
    text = re.sub(r"All \d+ verdicts", f"All {len(verdicts)} verdicts", text)
    text = re.sub(
        r"A verdict is wrong with probability.*?to be\.", sentence(verdicts), text, flags=re.S
    )
    for theory in jaxtheory.theories.names():
        of_theory = [
            verdicts[claim.id] for figure, claim in entries() if theories[figure].theory == theory
        ]
        cells = " | ".join(str(tally(of_theory, origin)) for origin in ORIGINS[:2])
        row = rf"(^\| \[`{theory}`\].*?\|.*?\|) [^|]* \| [^|]* \|"
        text = re.sub(row, lambda found, cells=cells: f"{found[1]} {cells} |", text, flags=re.M)
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--key", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("results"))
    parser.add_argument("--ladders", type=int, nargs="+", metavar="KEY")
    options = parser.parse_args()
    if options.ladders:
        before, _, rest = LADDERS.read_text(encoding="utf-8").partition(MARK)
        after = rest.partition(MARK)[2]
        table = ladders(options.ladders, options.store)
        LADDERS.write_text(f"{before}{MARK}\n{table}\n{MARK}{after}", encoding="utf-8")
        parser.exit()
    PAGE.write_text(page(options.key, options.store), encoding="utf-8")
    whole = README.read_text(encoding="utf-8")
    README.write_text(readme(whole, stored(options.store, options.key)[0]), encoding="utf-8")
