"""The numbers of replicates: docs/replicates/FIGURE.json has, by key, those of each claim.

`make runs ARGS="--key K"` runs python docs/replicates.py: it makes what is missing under a key or
was made by other code, figure by figure, the shortest first, and can be ended at any time. A
verdict is a function of these numbers (`make verdicts`).
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import evidence

import jaxtheory
from jaxtheory.claims.judged import judge_numbers
from jaxtheory.code.code_hash import code_hash
from jaxtheory.reports.figure_record import read_record
from jaxtheory.reports.run_files import record_claim, stem

FOLDER = evidence.DOCS / "replicates"
KEPT = ("command", "key", "setup", "runs", "seconds", "versions")
MAX_SEEDS = 64


def code(figure: jaxtheory.Figure) -> str:
    """Return a hash of what the numbers depend on: the theory, the sweep and the measures."""
    theory = figure.theory and figure.theory._replace(checks=(), examples=())
    parts = [(claim.id, claim.measure, claim.diverged, claim.law) for claim in figure.claims]
    options = figure.config, sorted(figure.sweep.items(), key=lambda item: item[0])
    return code_hash((theory, *options, figure.experiment, figure.verb.__name__, parts))


def load(name: str) -> dict[str, Any]:
    """Return what is known of a figure, by key."""
    file = FOLDER / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def collect(name: str, key: int, store: Path) -> bool:
    """Keep the numbers of a figure that was run into a folder, and return whether it was."""
    file = stem(store, name, key).with_suffix(".json")
    if not file.is_file():
        return False
    record = read_record(file)
    claims = {claim: entry["numbers"] for claim, entry in record["claims"].items()}
    facts = {word: record[word] for word in KEPT} | {"commit": commit()}
    facts |= {"code": _code_of(name), "caption": record["caption"]}
    pair = evidence.keys(name)
    content = {word: entry for word, entry in load(name).items() if int(word) in pair}
    content |= {str(key): facts | {"claims": claims}}
    FOLDER.mkdir(exist_ok=True)
    lines = (f'"{one}": {json.dumps(entry, ensure_ascii=False)}' for one, entry in content.items())
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return True


def commit() -> str:
    """Return the commit of this checkout, with -dirty if files differ; "" if it has none."""
    words = ("git", "describe", "--always", "--dirty", "--abbrev=8", "--match", "")
    where: Any = {"cwd": evidence.DOCS, "capture_output": True, "text": True}
    return subprocess.run(words, check=False, **where).stdout.strip()


def stale(key: int) -> list[str]:
    """Return the figures whose numbers under a key were made by other code."""
    known = ((name, load(name).get(str(key))) for name in of_key(key))
    return [name for name, facts in known if facts and facts["code"] != _code_of(name)]


def _code_of(name: str) -> str:
    return code(jaxtheory.figures.get(name))


def judged(name: str, key: int) -> dict[str, dict[str, Any]]:
    """Return the records of a figure's claims, judged on the numbers of a key; none if it lacks."""
    numbers = load(name).get(str(key), {"claims": {}})["claims"]
    return {
        claim.id: record_claim(judge_numbers(claim, [_number(x) for x in numbers[claim.id]]))
        for claim in jaxtheory.figures.get(name).claims
        if claim.id in numbers
    }


def _number(entry: Any) -> Any:
    if isinstance(entry, list):
        return tuple(entry)
    return float("nan") if entry is None else entry


def of_key(key: int) -> list[str]:
    """Return the figures that are judged under a key."""
    return [name for name in jaxtheory.figures.entries() if key in evidence.keys(name)]


def missing(key: int) -> list[str]:
    """Return the figures without numbers of this key and code, the shortest first."""
    facts = evidence.load()["figures"]
    seconds = lambda name: facts.get(name, {}).get("seconds", 0)
    names = [
        name for name in of_key(key) if load(name).get(str(key), {}).get("code") != _code_of(name)
    ]
    return sorted(names, key=seconds)


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run figures until all are there or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    choices = (*evidence.KEYS, *evidence.LATER, *evidence.OF_LADDERS)
    parser.add_argument("--key", type=int, choices=choices, required=True)
    parser.add_argument("--store", type=Path, default=Path("results"))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    names = missing(options.key)
    for place, name in enumerate(names):
        if time.monotonic() > end:
            tell(f"{len(names) - place} figures are left")
            break
        tell(f"{place + 1} of {len(names)}: {name}")
        words = f"run {name} --until-decided --max-seeds {MAX_SEEDS} --key {options.key}"
        command = [sys.executable, "-m", "jaxtheory", *words.split(), "--store"]
        subprocess.run([*command, str(options.store)], check=False, stdout=subprocess.DEVNULL)
        if not collect(name, options.key, options.store):
            tell(f"{name} was not run")


if __name__ == "__main__":
    main()
