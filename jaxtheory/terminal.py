"""Tables and progress bars on a terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a title; 160 columns wide where nobody looks."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for row in rows:
        drawn.add_row(*map(text, row))
    Console(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False).print(drawn)


def text(value: Any) -> str:
    """A value of a table: yes and no, four digits, nothing for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


@contextlib.contextmanager
def bar(title: str, shown: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """A callback (done, of, note) that draws a bar on a terminal's stderr; None elsewhere."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(title, total=None, note="")
        yield lambda done, of, note: drawn.update(task, completed=done, total=of, note=note)


@contextlib.contextmanager
def sweep_progress(title: str, shown: bool = True) -> Iterator[Callable | None]:
    """A bar for the events of a sweep."""
    with bar(title, shown) as draw:
        if draw is None:
            yield None
            return

        def show(event: Any) -> None:
            note = (
                f"{event.phase}: {event.done_points}/{event.points} points, step "
                f"{event.step}/{event.steps}{left(event.eta_seconds)}"
            )
            draw(event.done_points, event.points, note)

        yield show


@contextlib.contextmanager
def steps_progress(title: str, shown: bool = True) -> Iterator[Callable | None]:
    """A bar for what comes one after the other: (what, done, of, seconds left)."""
    with bar(title, shown) as draw:
        if draw is None:
            yield None
            return

        def show(what: str, done: int, of: int, seconds: float | None) -> None:
            draw(done, of, f"{what} {done}/{of}{left(seconds)}")

        yield show


def left(seconds: float | None) -> str:
    """The time that is left, where known."""
    return "" if seconds is None else f", {duration(seconds)} left"


def duration(seconds: float) -> str:
    """Seconds, at least 1, below two minutes, else minutes."""
    return f"{max(seconds, 1):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
