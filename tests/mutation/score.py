"""`make mutation`: how many wrong versions of each room's functions its checks notice.

python tests/mutation/score.py [ROOM ...] [--write]: prints the table and the survivors, each with
its explanation; exit code 1 where one has none. --write (all rooms) keeps them in
docs/verification.md.
"""

import sys
from pathlib import Path

import mutants

import jaxtheory

PAGE = Path(__file__).parents[2] / "docs" / "verification.md"
MARK = "<!-- mutation -->"


def score(name: str) -> tuple[list[mutants.Mutant], dict[str, str]]:
    """All wrong versions of a room, and the explanations of survivors."""
    theory, written = jaxtheory.theories.get(name), mutants.rows_of(name)
    found = []
    for function in mutants.guarded(theory):
        found += mutants.try_scaled(theory, function)
    for _, module, function, wrong in written.ROWS:
        found.append(mutants.try_row(theory, module, function, wrong))
    return found, getattr(written, "EXPLAINED", {})


def main(words: list[str]) -> int:
    """The table on stdout; 1 where a survivor has no explanation."""
    names = [word for word in words if word != "--write"] or list(jaxtheory.theories.names())
    lines = [
        "| theory | tried | killed | survivors explained | unexplained |",
        "|---|---|---|---|---|",
    ]
    rest, unexplained = [], 0
    for name in names:
        found, explained = score(name)
        alive = [m for m in found if m.killed_by is None]
        why = {
            f"{m.function}: {m.change}": explained.get(f"{m.function}: {m.change}") for m in alive
        }
        missing = sum(reason is None for reason in why.values())
        unexplained += missing
        lines.append(
            f"| {name} | {len(found)} | {len(found) - len(alive)} | {len(alive) - missing} "
            f"| {missing} |"
        )
        rest += [f"- {name}, `{key}`: {reason or 'UNEXPLAINED'}" for key, reason in why.items()]
        print(lines[-1], *rest[-len(why) :] if why else [], sep="\n", flush=True)
    if "--write" in words:
        before, _, after = PAGE.read_text().split(MARK)
        text = "\n".join([*lines, "", *rest])
        PAGE.write_text(f"{before}{MARK}\n{text}\n{MARK}{after}")
    return int(unexplained > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
