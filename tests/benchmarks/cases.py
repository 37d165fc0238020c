"""The rows that every theory has: its sweep against baselines, and against the same by hand."""

from collections.abc import Callable
from typing import Any

from benchmarks.floor import Work
from benchmarks.study import ByHand, Study
from benchmarks.table import Group, Line
from benchmarks.timing import Side

OVERHEAD = 1.08  # of CPU time


def described(study: Study, setting: str) -> str:
    return (
        f"{setting}; {len(study.values)} values of {study.field} x {study.seeds} seeds x "
        f"{study.steps} steps"
    )


def against(
    study: Study,
    setting: str,
    others: dict[str, tuple[Side | Callable[..., Any], float | None]],
    work: Work,
    more: bool = False,
) -> Group:
    """Our sweep, recorded at its ends, against sides, or train(problem, config, steps) for one run
    after the other, each with its goal. The others only train, on problems made beforehand.
    """
    sides, lines = {"sweep": Side(study.ends)}, []
    for name, (other, goal) in others.items():
        sides[name] = other if isinstance(other, Side) else trained(study, other)
        lines.append(Line(name, "sweep", name, "faster", goal))
    name = study.theory.name
    return Group(name, described(study, setting), sides, lines, {"sweep": work}, more)


def trained(study: Study, train: Callable[..., Any]) -> Side:
    """One run after the other; a tenth of the steps of the first, at least three, are the part."""
    steps = max(3, study.steps // 10)
    parts = study.runs * study.steps / steps
    return Side(study.over(train), study.one(train, steps), parts)


def overhead(study: Study) -> Group:
    """CPU time of the sweep as it comes, with all its records, against the same by hand."""
    hand = ByHand(study)
    sides = {"sweep": Side(study.sweep), "by hand": Side(hand.whole)}
    lines = [Line("sweep over hand-written loop", "sweep", "by hand", "cpu", OVERHEAD)]
    return Group(study.theory.name, described(study, "default records"), sides, lines, {})
