"""Rows of the table, from timings: ratio, goal, floor; as text, Markdown and JSON."""

import statistics
from typing import Any, NamedTuple

from benchmarks.floor import Work
from benchmarks.timing import ROUNDS, Side, Timed

HEAD = (
    "theory",
    "row",
    "jaxtheory s",
    "other s",
    "ratio",
    "goal",
    "met",
    "compile s",
    "other compile s",
    "floor s",
    "floor / jaxtheory",
    "most",
)


SHOWN = HEAD.index("floor s")  # columns on the page


class Line(NamedTuple):
    """What a row compares: two sides by name, and what their ratio should be.

    kind "faster": seconds of `baseline` over those of `ours`, at least the goal; "cost": seconds of
    `ours` over those of `baseline`, at most the goal; "cpu": the same of CPU seconds; "within":
    seconds of `ours`, at most the goal, of which `baseline` is a part that it cannot avoid.
    """

    name: str
    ours: str
    baseline: str
    kind: str
    goal: float | None = None


class Group(NamedTuple):
    """Sides that are timed in turn, the rows that compare them, and the work that each of our sides
    cannot avoid. `setting` says what is run; `more`: only with --all; `rounds`: 0 for what runs
    once.
    """

    theory: str
    setting: str
    sides: dict[str, Side]
    lines: list[Line]
    work: dict[str, Work]
    more: bool = False
    rounds: int = ROUNDS


class Row(NamedTuple):
    """A row of the table. ratio: the median over rounds. floor: seconds that `ours` cannot go
    below; most: the ratio that it would have then.
    """

    theory: str
    name: str
    kind: str
    setting: str
    ours: float
    baseline: float | None
    extrapolated: bool
    ratio: float | None
    goal: float | None
    compiling: float | None
    baseline_compiling: float | None
    floor: float | None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.goal is None:
            return None
        if self.kind == "within":
            return self.ours <= self.goal
        return self.ratio >= self.goal if self.kind == "faster" else self.ratio <= self.goal

    @property
    def reached(self) -> float | None:
        """The floor over our seconds, 1 where nothing is left to gain."""
        return None if self.floor is None else self.floor / self.ours

    @property
    def most(self) -> float | None:
        """The ratio at the floor."""
        if self.floor is None or self.kind != "faster":
            return None
        return self.baseline / self.floor


def rows(group: Group, timed: dict[str, Timed], floors: dict[str, float]) -> list[Row]:
    """The rows of a group; floors are seconds of its sides."""
    entries = []
    for line in group.lines:
        ours, baseline = timed[line.ours], timed[line.baseline]
        if line.kind == "within":
            entries.append(within(group, line, ours, baseline))
            continue
        pair = (ours.cpu, baseline.cpu) if line.kind == "cpu" else (ours.seconds, baseline.seconds)
        first, second = pair[::-1] if line.kind == "faster" else pair
        entries.append(
            Row(
                group.theory,
                line.name,
                line.kind,
                group.setting,
                statistics.median(pair[0]),
                statistics.median(pair[1]),
                baseline.extrapolated,
                statistics.median(a / b for a, b in zip(first, second, strict=True)),
                line.goal,
                ours.compiling,
                baseline.compiling,
                None if line.kind == "cpu" else floors.get(line.ours),
            )
        )
    return entries


def within(group: Group, line: Line, ours: Timed, part: Timed) -> Row:
    """The row of seconds that have a goal."""
    duration, least = statistics.median(ours.seconds), statistics.median(part.seconds)
    none = dict.fromkeys(("baseline", "ratio", "compiling", "baseline_compiling"))
    row = {"theory": group.theory, "name": line.name, "kind": line.kind, "setting": group.setting}
    return Row(**row, **none, ours=duration, extrapolated=False, goal=line.goal, floor=least)


def number(value: float | None) -> str:
    """Three digits, nothing for None."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def cells(row: Row) -> list[str]:
    """A row as words."""
    sign = "≥" if row.kind == "faster" else "≤"
    return [
        row.theory,
        row.name + (" (CPU)" if row.kind == "cpu" else ""),
        number(row.ours),
        number(row.baseline) + (" x" if row.extrapolated else ""),
        number(row.ratio),
        "" if row.goal is None else f"{sign} {row.goal:g}" + " s" * (row.kind == "within"),
        {None: "", True: "yes", False: "NO"}[row.met],
        number(row.compiling),
        number(row.baseline_compiling),
        number(row.floor),
        "" if row.reached is None else f"{100 * row.reached:.2g} %",
        number(row.most),
    ]


def text(rows: list[Row]) -> str:
    """The table in columns."""
    lines = [list(HEAD), *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(rows: list[Row]) -> str:
    """The table for a page, without floors."""
    line = lambda words: f"| {' | '.join(words[:SHOWN])} |"
    lines = [line(HEAD), line(["---"] * len(HEAD)), *(line(cells(row)) for row in rows)]
    return "\n".join(lines)


def waits(rows: list[Row]) -> str:
    """The table of waiting times as Markdown: seconds, limit, and seconds of the imports."""
    line = lambda words: f"| {' | '.join(words)} |"
    lines = [line(("what", "s", "goal", "met", "of which imports")), line(["---"] * 5)]
    for row in rows:
        words = cells(row)
        what = f"{row.theory}: {row.name} (`{row.setting}`)"
        lines.append(line((what, words[2], words[5], words[6], words[9])))
    return "\n".join(lines)


def records(rows: list[Row]) -> list[dict[str, Any]]:
    """The rows for JSON."""
    return [
        {**row._asdict(), "met": row.met, "reached": row.reached, "most": row.most} for row in rows
    ]


def row(record: dict[str, Any]) -> Row:
    """A row of such a record."""
    return Row(*(record[name] for name in Row._fields))
