"""Write docs/verdicts.md from the verdicts that `jaxtheory run all --key K` has stored.

`make verdicts` runs python docs/verdicts.py KEY KEY ... [--store DIR]. It is an error if a figure
has not been run under one of the keys.
"""

import argparse
import functools
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import jaxtheory
from jaxtheory.reports.records import stem

PAGE = Path(__file__).with_name("verdicts.md")
HEAD = """# Verdicts

Written by `make verdicts` from what `jaxtheory run all --key K` found, K = {keys}, on {cores} CPU
cores, CPython {python}, jax {jax}.

Origin: *printed* is a sentence of the source, quoted in “ ”; *interpretation* is our version of a
sentence that gives no numbers, or only an order of magnitude; *derived* is a statement of ours.
Only a printed sentence is "refuted" without more. "Open" claims are reported and never fail. n is
the number of seeds that have a value under the first key. A claim on a mean is judged by the mean
over seeds, the worst along the other dimensions (docs/decisions/0007-verdicts-on-means.md). The
claims on Llamas are in docs/real-models.md.
"""


@functools.cache
def entries() -> list[tuple[str, jaxtheory.Claim]]:
    """Return (figure, claim) for all claims of the six theories, in the order of the figures."""
    figures = map(jaxtheory.figures.get, jaxtheory.figures.entries())
    return [(f.name, claim) for f in figures if not f.experiment for claim in f.claims]


def kept(store: Path, figure: str, key: int) -> dict[str, dict]:
    """Return the stored verdicts of a figure under a key, by claim."""
    file = stem(store, figure, key).with_suffix(".json")
    if not file.is_file():
        raise FileNotFoundError(f"{file}: run jaxtheory run {figure} --key {key} --store {store}")
    claims: dict[str, dict] = json.loads(file.read_text(encoding="utf-8"))["claims"]
    return claims


def counts(rows: list[tuple[str, jaxtheory.Claim]], verdicts: dict[str, dict]) -> list[str]:
    """Return a table of the number of claims for each origin and finding, under one key."""
    lines = ["| origin | claims | findings |", "|---|---|---|"]
    for origin in ("printed", "interpretation", "derived"):
        words = [verdicts[claim.id]["finding"] for _, claim in rows if claim.origin.kind == origin]
        by_word = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
        lines.append(f"| {origin} | {len(words)} | {by_word} |")
    return lines


def shown(number: float | str | None) -> str:
    """Format a number for the table."""
    return "" if number is None else number if isinstance(number, str) else f"{number:.4g}"


def of(figure: str, claim: jaxtheory.Claim) -> list[str]:
    """Return the cells of a row that do not depend on measurements."""
    statement = claim.statement.replace("|", "\\|")
    return [claim.id, figure, claim.origin.kind, statement, claim.expect or "open"]


def page(keys: list[int], store: Path) -> str:
    """Return the whole page."""
    rows = entries()
    verdicts = [
        {
            c: v
            for figure in dict.fromkeys(f for f, _ in rows)
            for c, v in kept(store, figure, key).items()
        }
        for key in keys
    ]
    head = HEAD.format(
        keys=", ".join(map(str, keys)),
        cores=os.cpu_count(),
        python=platform.python_version(),
        jax=version("jax"),
    )
    columns = ["claim", "figure", "origin", "statement", "expected", "threshold", "n"]
    columns += [word for key in keys for word in (f"key {key}", "verdict")]
    lines = [
        head,
        *counts(rows, verdicts[0]),
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
    ]
    for figure, claim in rows:
        first = verdicts[0][claim.id]
        cells = [*of(figure, claim), shown(first["threshold"]), shown(first["n"])]
        for at in verdicts:
            differs = " (differs)" if at[claim.id]["outcome"] == "differs" else ""
            cells += [shown(at[claim.id]["measured"]), at[claim.id]["finding"] + differs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keys", type=int, nargs="+")
    parser.add_argument("--store", type=Path, default=Path("results"))
    options = parser.parse_args()
    PAGE.write_text(page(options.keys, options.store))
