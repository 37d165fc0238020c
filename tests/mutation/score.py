"""`make mutation`: how many wrong versions of each theory's functions are noticed.

python tests/mutation/score.py [THEORY ...] [--checks | --edits] [--write]: prints a table of those
that the checks notice (`mutants.py`), one of those made from the source that the references notice
(`edits.py`), and the survivors, each with its explanation; exit code 1 where one has none. --checks
and --edits choose one table; --write (both, all theories) keeps them in docs/verification.md.

python tests/mutation/score.py --engine [FOLDER ...] [--number N] [--seed S]: the same of a sample
of the rest of the package (`package.py`), on its tests: those of `make test`, and all.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import edits
import mutants
import package

import jaxtheory

PAGE = Path(__file__).parents[2] / "docs" / "verification.md"
MARK = "<!-- mutation -->"
HEAD = ["tried | killed | survivors explained | unexplained |", "---|---|---|---|"]
Score = Callable[[str], tuple[list[mutants.Mutant], dict[str, str]]]


def by_checks(name: str) -> tuple[list[mutants.Mutant], dict[str, str]]:
    """All wrong versions of the functions that checks name, and the explanations of survivors."""
    theory, written = jaxtheory.theories.get(name), mutants.rows_of(name)
    found = []
    for function in mutants.guarded(theory):
        found += mutants.try_scaled(theory, function)
    for _, module, function, wrong in written.ROWS:
        found.append(mutants.try_row(theory, module, function, wrong))
    return found, getattr(written, "EXPLAINED", {})


def by_references(name: str) -> tuple[list[mutants.Mutant], dict[str, str]]:
    """All wrong versions made from the source of what the slots run, and the explanations."""
    return list(edits.try_edits(name)), edits.equivalent(name)


def table(title: str, names: list[str], score: Score) -> tuple[list[str], int]:
    """The rows and the survivors, printed as they are found; how many have no explanation."""
    lines, rest, unexplained = [f"| {title} | {HEAD[0]}", f"|---|{HEAD[1]}"], [], 0
    for name in names:
        found, explained = score(name)
        alive = [m for m in found if m.killed_by is None]
        why = {key: explained.get(key) for key in (f"{m.function}: {m.change}" for m in alive)}
        missing = sum(reason is None for reason in why.values())
        unexplained += missing
        lines.append(
            f"| {name} | {len(found)} | {len(found) - len(alive)} | {len(alive) - missing} "
            f"| {missing} |"
        )
        rest += [f"- {name}, `{key}`: {reason or 'UNEXPLAINED'}" for key, reason in why.items()]
        print(lines[-1], *rest[-len(why) :] if why else [], sep="\n", flush=True)
    return [*lines, "", *rest], unexplained


def of_package(folders: list[str], number: int, seed: int) -> int:
    """The table of the rest of the package, printed as it is found; its survivors unexplained."""
    print(
        "| package | tried | killed by make test | by --all | survivors explained | unexplained |"
    )
    print("|---|---|---|---|---|---|")
    explained, missing = edits.equivalent("package"), 0
    for folder in folders:
        found = list(package.tried(folder, number, seed))
        killers = [killer for _, killer in found]
        alive = [wrong.name for wrong, killer in found if killer is None]
        open_ones = [name for name in alive if name not in explained]
        missing += len(open_ones)
        default, rest = killers.count("default"), killers.count("all")
        print(
            f"| {folder} | {len(found)} | {default} | {default + rest} "
            f"| {len(alive) - len(open_ones)} | {len(open_ones)} |"
        )
        print(*(f"- `{name}`: {explained.get(name, 'UNEXPLAINED')}" for name in alive), sep="\n")
        late = [wrong.name for wrong, killer in found if killer == "all"]
        print(*(f"- `{name}`: only --all notices" for name in late), sep="\n", flush=True)
    return missing


def main() -> int:
    """The tables on stdout; 1 where a survivor has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = list(jaxtheory.theories.names())
    parser.add_argument("theories", nargs="*", metavar="NAME", help=", ".join(every))
    parser.add_argument("--checks", action="store_true", help="what the checks notice")
    parser.add_argument("--edits", action="store_true", help="what the references notice")
    parser.add_argument("--write", action="store_true", help="into docs/verification.md")
    parser.add_argument("--engine", action="store_true", help=", ".join(package.FOLDERS))
    parser.add_argument("--number", type=int, default=20, help="wrong versions of each folder")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    asked = parser.parse_args()
    if asked.engine:
        every = list(package.FOLDERS)
    if unknown := set(asked.theories) - set(every):
        parser.error(f"no {', '.join(sorted(unknown))}: there are {', '.join(every)}")
    if asked.engine:
        return int(of_package(asked.theories or every, asked.number, asked.seed) > 0)
    both = asked.checks == asked.edits
    if asked.write and (asked.theories or not both):
        parser.error("--write takes both tables of all theories")
    text, unexplained = [], 0
    for chosen, title, score in (
        (asked.checks, "checks", by_checks),
        (asked.edits, "references", by_references),
    ):
        if chosen or both:
            lines, missing = table(title, asked.theories or every, score)
            text += [*lines, ""]
            unexplained += missing
    if asked.write:
        before, _, after = PAGE.read_text().split(MARK)
        PAGE.write_text(f"{before}{MARK}\n" + "\n".join(text).strip() + f"\n{MARK}{after}")
    return int(unexplained > 0)


if __name__ == "__main__":
    raise SystemExit(main())
