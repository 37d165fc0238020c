"""`make mutation`: how many wrong versions of each theory's functions are noticed.

python tests/mutation/score.py [THEORY ...] [--factors | --edits] [--write]: prints a table of
results times a factor, which checks notice (`mutants.py`), one of edits of the source, which
references or checks notice (`edits.py`), and the survivors, each with its explanation; exit code 1
where one has none. --factors and --edits choose one table; --write (both, all theories) keeps them
in docs/verification.md.

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


def by_factors(name: str) -> tuple[list[mutants.Mutant], dict[str, str]]:
    """The functions that checks name, times factors, and the explanations of survivors."""
    theory = jaxtheory.theories.get(name)
    versions = [
        m for function in mutants.guarded(theory) for m in mutants.try_scaled(theory, function)
    ]
    return versions, edits.equivalent(name)


def by_edits(name: str) -> tuple[list[mutants.Mutant], dict[str, str]]:
    """All wrong versions made from the source, and the explanations of survivors."""
    return list(edits.try_edits(name)), edits.equivalent(name)


def table(title: str, names: list[str], score: Score) -> tuple[list[str], int]:
    """The rows, printed with their survivors; how many survivors have no explanation."""
    lines, unexplained = [f"| {title} | {HEAD[0]}", f"|---|{HEAD[1]}"], 0
    for name in names:
        versions, explained = score(name)
        alive = [m for m in versions if m.killed_by is None]
        why = {key: explained.get(key) for key in (f"{m.function}: {m.change}" for m in alive)}
        missing = sum(reason is None for reason in why.values())
        unexplained += missing
        lines.append(
            f"| {name} | {len(versions)} | {len(versions) - len(alive)} | {len(alive) - missing} "
            f"| {missing} |"
        )
        survivors = [f"- {name}, `{key}`: {reason or 'UNEXPLAINED'}" for key, reason in why.items()]
        print(lines[-1], *survivors, sep="\n", flush=True)
    return lines, unexplained


def of_package(folders: list[str], number: int, seed: int) -> int:
    """The table of the rest of the package, printed as it is found; its survivors unexplained."""
    print(
        "| package | tried | killed by make test | by --all | survivors explained | unexplained |"
    )
    print("|---|---|---|---|---|---|")
    explained, missing = edits.equivalent("package"), 0
    for folder in folders:
        trials = list(package.tried(folder, number, seed))
        killers = [killer for _, killer in trials]
        alive = [wrong.name for wrong, killer in trials if killer is None]
        open_ones = [name for name in alive if name not in explained]
        missing += len(open_ones)
        default, extra = killers.count("default"), killers.count("all")
        print(
            f"| {folder} | {len(trials)} | {default} | {default + extra} "
            f"| {len(alive) - len(open_ones)} | {len(open_ones)} |"
        )
        print(*(f"- `{name}`: {explained.get(name, 'UNEXPLAINED')}" for name in alive), sep="\n")
        late = [wrong.name for wrong, killer in trials if killer == "all"]
        print(*(f"- `{name}`: only --all notices" for name in late), sep="\n", flush=True)
    return missing


def main() -> int:
    """The tables on stdout; 1 where a survivor has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = list(jaxtheory.theories.names())
    parser.add_argument("theories", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--factors", action="store_true", help="results times a factor")
    parser.add_argument("--edits", action="store_true", help="edits of the source")
    parser.add_argument("--write", action="store_true", help="into docs/verification.md")
    parser.add_argument("--engine", action="store_true", help=", ".join(package.FOLDERS))
    parser.add_argument("--number", type=int, default=20, help="wrong versions of each folder")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    arguments = parser.parse_args()
    if arguments.engine:
        names = list(package.FOLDERS)
    if unknown := set(arguments.theories) - set(names):
        parser.error(f"no {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    if arguments.engine:
        return int(of_package(arguments.theories or names, arguments.number, arguments.seed) > 0)
    all_tables = arguments.factors == arguments.edits
    if arguments.write and (arguments.theories or not all_tables):
        parser.error("--write takes both tables of all theories")
    text, unexplained = [], 0
    for chosen, title, score in (
        (arguments.factors, "factors", by_factors),
        (arguments.edits, "edits", by_edits),
    ):
        if chosen or all_tables:
            lines, missing = table(title, arguments.theories or names, score)
            text += [*lines, ""]
            unexplained += missing
    if arguments.write:
        before, _, after = PAGE.read_text().split(MARK)
        PAGE.write_text(f"{before}{MARK}\n" + "\n".join(text).strip() + f"\n{MARK}{after}")
    return int(unexplained > 0)


if __name__ == "__main__":
    raise SystemExit(main())
