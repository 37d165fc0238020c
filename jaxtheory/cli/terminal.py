"""Tables, progress bars and the standard streams of a command."""

import contextlib
import io
import os
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
        drawn.add_row(*map(_text, row))
    console = Console(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False)
    with console.capture() as printed:  # rich itself would end the process where nobody reads
        console.print(drawn)
    sys.stdout.write(printed.get())


def mend_streams() -> None:
    """Make the standard streams fit to be written to, whatever the process was started with. A
    stream that is not there becomes the null device, so that no file of a store takes its number;
    a sign that its encoding does not have is replaced.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def say(message: object) -> None:
    """Write a line to stderr, where somebody can read it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{message}\n")


def flush(code: int) -> int:
    """Write out what waits in stdout.

    Args:
        code: The exit code of the command.

    Returns:
        The code; 141 where the reader, `| head` for instance, has closed the stream, as a shell
        says of other tools; 2 where the stream cannot be written, after a line that says why.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # nothing is tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        say(f"standard output cannot be written: {error.strerror}")
        return 2
    return code


def _text(value: Any) -> str:
    """A value of a table: yes and no, four digits, nothing for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


@contextlib.contextmanager
def _bar(title: str, shown: bool) -> Iterator[Callable[[int, int, str], None] | None]:
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
    with _bar(title, shown) as draw:
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
    with _bar(title, shown) as draw:
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
