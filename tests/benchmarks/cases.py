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
    rivals: dict[str, tuple[Side | Callable[..., Any], float | None]],
    work: Work,
    peers: dict[str, tuple[Callable[..., Any], float]] | None = None,
    more: bool = False,
) -> Group:
    """Our sweep, recorded at its ends, against sides, or train(problem, config, steps) for one run
    after the other, each with its goal. The others only train, on problems made beforehand.

    peers: train(problem, config, steps) of what a competent user writes, with its goal: all runs
    vmapped in one jitted program. Each is a script with its data against our sweep, and its steps
    against our steps. A fiftieth of the steps, at least three, is the part of a long one.
    """
    sides, lines = {"sweep": Side(study.ends)}, []
    short = study._replace(steps=max(3, study.steps // 50))
    parts = study.steps / short.steps
    if peers:
        sides["steps"] = Side(study.steps_alone())
    for name, (train, goal) in (peers or {}).items():
        script, steps = name, f"{name}, steps"
        sides[script] = Side(study.script(train), short.script(train), parts)
        sides[steps] = Side(study.at_once(train), short.at_once(train), parts)
        lines.append(Line(script, "sweep", script, "faster", goal))
        lines.append(Line(steps, "steps", steps, "faster", goal))
    for name, (rival, goal) in rivals.items():
        sides[name] = rival if isinstance(rival, Side) else trained(study, rival)
        lines.append(Line(name, "sweep", name, "faster", goal))
    name = study.theory.name
    works = {side: work for side in ("sweep", "steps") if side in sides}
    return Group(name, described(study, setting), sides, lines, works, more)


def trained(study: Study, train: Callable[..., Any]) -> Side:
    """One run after the other; a tenth of the steps of the first, at least three, are the part."""
    steps = max(3, study.steps // 10)
    parts = study.runs * study.steps / steps
    return Side(study.over(train), study.one(train, steps), parts)


def overhead(study: Study) -> Group:
    """CPU time of the sweep as it comes, with all its records, against the same by hand."""
    hand = ByHand(study)
    sides = {"sweep": Side(study.sweep), "by hand": Side(hand.run)}
    lines = [Line("sweep over hand-written loop", "sweep", "by hand", "cpu", OVERHEAD)]
    return Group(study.theory.name, described(study, "default records"), sides, lines, {})
