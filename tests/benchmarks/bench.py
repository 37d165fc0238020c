"""`make bench`: every theory against NumPy, plain JAX, the same by hand and the machine's floor.

python tests/benchmarks/bench.py [--all] [--only NAME ...] [--json FILE] [--write]
[--from FILE ...] [--accelerator [--seconds S]] [--profile [--cpu]]: prints one table; --all: the
rows without a goal too; --only: these theories, boundaries, workers or processes; --json: the rows,
rates and machine; --write: into docs/performance.md with its picture, from there into README.md,
and a line of history.jsonl; --from: the rows of such files, nothing is measured; --accelerator: on
what JAX finds beside the CPU, see accelerator.py, or one line where there is nothing; --profile:
how the seconds of every sweep divide into parts, see profiles.py.

Every row is measured in one run of this program, its sides in turn, five times; a ratio is the
median over rounds. Compilation is counted apart, and never comes from a cache. A side of more than
10 s is timed on a part of at least three steps of one run and multiplied, marked x. Processes are
timed from start to end, what takes minutes once.
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from jaxtheory.theories import names

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
PAGE = HERE.parents[1] / "docs" / "performance.md"
README = HERE.parents[1] / "README.md"
MODULES = (*names(), "boundaries", "workers", "processes")
PICTURE = PAGE.with_suffix(".webp")
PARTS = PAGE.parent / "decisions" / "0050-where-the-time-goes.md"
HISTORY = HERE / "history.jsonl"
MARKS = ("<!-- bench -->", "<!-- /bench -->")
WAITS = ("<!-- waits -->", "<!-- /waits -->")
SPEEDS = ("<!-- speeds -->", "<!-- /speeds -->")


def measured_on(options: argparse.Namespace) -> dict:
    """What the table was measured on, under which load, and how."""
    import jax
    from helpers.machine import machine

    return {
        **machine("jax", "jaxlib", "numpy"),
        "device": jax.devices()[0].device_kind,
        "load": [round(average, 1) for average in os.getloadavg()],
        "command": command(options),
    }


def command(options: argparse.Namespace) -> str:
    """The command line, without its files."""
    words = ["python tests/benchmarks/bench.py", "--all" * options.all]
    words.append("--accelerator" * options.accelerator)
    words += ["--profile" * options.profile, "--cpu" * options.cpu]
    words.append("--only " + " ".join(options.only) if tuple(options.only) != MODULES else "")
    return " ".join(filter(None, words))


def measure(modules: tuple[str, ...], everything: bool) -> list:
    """The rows of some modules."""
    from benchmarks import floor, table, timing

    rows = []
    for group in groups(modules, everything):
        begun = time.perf_counter()
        timed = timing.alternating(group.sides, group.rounds)
        floors = {side: floor.seconds(work) for side, work in group.work.items()}
        new = table.rows(group, timed, floors)
        rows += new
        for row in new:
            print(" | ".join(table.cells(row)), file=sys.stderr)
        took = time.perf_counter() - begun
        print(f"  ({took:.0f} s) {group.theory}: {group.setting}", file=sys.stderr, flush=True)
    return rows


def groups(modules: tuple[str, ...], everything: bool = False) -> Iterator:
    """The groups of some modules; what one has compiled is forgotten before the next."""
    import jax

    from jaxtheory.engine.compute import compiled

    for name in modules:
        for group in importlib.import_module(f"benchmarks.{name}").groups():
            if everything or not group.more:
                yield group
                compiled._compiled.clear()
                jax.clear_caches()


def put(text: str, marks: tuple[str, str], page: Path = PAGE) -> None:
    """A text between marks of a page."""
    head, _, remainder = page.read_text().partition(marks[0])
    _, _, tail = remainder.partition(marks[1])
    page.write_text(f"{head}{marks[0]}\n\n{text}\n\n{marks[1]}{tail}")


def speeds(page: str) -> str:
    """The table of the README: of each theory the first ratio to NumPy and to vmapped JAX on the
    page of benchmarks.
    """
    table = page.partition(MARKS[0])[2].partition(MARKS[1])[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    heads = "NumPy", "vmapped JAX", "vmapped JAX with the algebra"
    lines = [f"| theory | {' | '.join(heads)} |", "| --- " * 4 + "|"]
    for theory in (name for name in names() if any(row[0] == name for row in cells)):
        ratios = [
            next((row[4] for row in cells if row[0] == theory and row[1].endswith(head)), "")
            for head in heads
        ]
        lines.append(f"| `{theory}` | {' | '.join(ratios)} |")
    return "\n".join(lines)


def write(rows: list, reports: list[dict]) -> None:
    """The tables and what they were measured on, between the marks of the page, and its picture."""
    from benchmarks import picture, table

    waits = [row for row in rows if row.kind == "within"]
    ratios = [row for row in rows if row.kind != "within"]
    settings = dict.fromkeys((row.theory, row.setting) for row in ratios)
    parts = [
        table.markdown(ratios),
        "",
        *(f"- `{theory}`: {setting}" for theory, setting in settings),
        "",
        "Measured by",
        "",
        *(f"- {facts(one)}" for one in reports),
    ]
    put("\n".join(parts), MARKS)
    put(table.waits(waits), WAITS)
    put(speeds(PAGE.read_text()), SPEEDS, README)
    picture.draw(rows, PICTURE)
    with HISTORY.open("a") as file:
        for one in reports:
            short = [[row["theory"], row["name"], row["ours"], row["ratio"]] for row in one["rows"]]
            file.write(json.dumps({**one["machine"], "rows": short}) + "\n")


def facts(report: dict) -> str:
    """Command, machine and rates of a run, in one line."""
    from helpers.machine import in_words

    where, rates = report["machine"], report["rates"]
    words = [in_words({n: value for n, value in where.items() if n not in ("command", "load")})]
    words.append("load averages at the start " + ", ".join(map(str, where["load"])))
    words += [f"{name} {value:.3g}" for name, value in rates.items()]
    return f"`{where['command']}`: " + "; ".join(words)


def main() -> int:
    """Print the table. The exit code is 1 for curves other than the CPU's, 2 without a device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the rows without a goal too")
    parser.add_argument("--only", nargs="+", choices=MODULES, default=MODULES, metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--from", nargs="+", type=Path, dest="files", default=[], metavar="FILE")
    parser.add_argument("--accelerator", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="of --profile: CPU seconds, one worker")
    parser.add_argument("--seconds", type=float, default=560, help="of --accelerator")
    options = parser.parse_args()
    if options.files:
        return show([json.loads(file.read_text()) for file in options.files], options)
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    if options.cpu:
        os.environ["JAXTHEORY_DEVICES"] = "1"
    import jax

    if options.accelerator and jax.default_backend() == "cpu":
        print("no accelerator: JAX finds the CPU alone", file=sys.stderr)
        return 2
    from benchmarks import accelerator, floor, profiles, table

    where = measured_on(options)
    if options.cpu:
        floor.clock = time.process_time
    if options.profile:
        parts = profiles.records(groups([name for name in options.only if name in names()]))
        report = {"machine": where, "rates": floor.measured(), "profiles": parts}
    elif options.accelerator:
        report = {"machine": where, **accelerator.measure(tuple(options.only), options.seconds)}
    else:
        rows = measure(tuple(options.only), options.all)
        report = {"machine": where, "rates": floor.measured(), "rows": table.records(rows)}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return show([report], options)


def show(reports: list[dict], options: argparse.Namespace) -> int:
    """What was measured, on stdout and with --write on the page."""
    from benchmarks import accelerator, profiles, table

    if options.accelerator or options.profile:
        module = profiles if options.profile else accelerator
        text = module.page(module.merged(reports), list(map(facts, reports)))
        print(text)
        if options.write:
            put(text, module.MARKS, PARTS if options.profile else PAGE)
        lanes = [lane for one in reports for lane in one.get("lanes", ())]
        wrong = [lane["theory"] for lane in lanes if lane["mismatches"]]
        if wrong:
            print(f"other curves than the CPU's: {', '.join(wrong)}", file=sys.stderr)
        return int(bool(wrong))
    rows = [table.row(record) for one in reports for record in one["rows"]]
    print(table.text(rows))
    print("\n".join(map(facts, reports)))
    if options.write:
        write(rows, reports)
    return 0


if __name__ == "__main__":
    sys.exit(main())
