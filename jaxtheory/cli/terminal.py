"""Tables, progress bars and standard streams of a command."""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jaxtheory.texts.labels import visible


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a title, as wide as the terminal, or 160 columns if there is none."""
    from rich import box
    from rich.table import Table

    heads = map(_text, columns)
    drawn = Table(*heads, title=_text(title), title_justify="left", box=box.SIMPLE_HEAD)
    for row in rows:
        drawn.add_row(*map(_text, row))
    _print(drawn, 160)


def table_of_lines(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of one line each under a title, as wide as the terminal, or 100 columns.

    The texts of the widest column are cut with an ellipsis to make room for the others.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    columns, rows = [*map(_text, columns)], [tuple(map(_text, row)) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]
    longest = widths.index(max(widths))
    room = max(20, width(100) - sum(widths) + widths[longest] - 2 * len(columns) + 2)
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for place, name in enumerate(columns):
        most = room if place == longest else None
        drawn.add_column(name, no_wrap=True, overflow="ellipsis", max_width=most)
    for row in rows:
        drawn.add_row(*row)
    put(f"{title}\n")
    _print(drawn, 100)


def width(otherwise: int) -> int:
    """Return the columns of the terminal, or so many if there is none."""
    return shutil.get_terminal_size((otherwise, 0)).columns


def _console(otherwise: int) -> Any:
    """Return a console as wide as the terminal, or of so many columns if there is none."""
    from rich.console import Console

    return Console(width=width(otherwise), markup=False, highlight=False)


def _print(drawn: Any, otherwise: int) -> None:
    """Print a table without spaces at the ends of its lines."""
    console = _console(otherwise)
    with console.capture() as printed:  # rich itself would exit on a closed pipe
        console.print(drawn)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in printed.get().splitlines())


def put(text: object) -> None:
    """Print a text and the end of a line to stdout.

    Characters that would steer the terminal are written as escapes, because what is printed may
    come from the files of others.
    """
    sys.stdout.write(f"{_text(str(text))}\n")


def mend_streams() -> None:
    """Make the standard streams writable, however the process was started.

    A missing stream becomes the null device, so that no file of a store takes its descriptor. A
    character that the encoding does not have is replaced.
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
    """Write a line to stderr as `put` does to stdout, and ignore that it may be closed."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{_text(str(message))}\n")


def flush(code: int) -> int:
    """Flush stdout.

    Args:
        code: The exit code of the command.

    Returns:
        The same code; or 141, as with other tools, if the reader (such as `| head`) has closed the
        stream; or 2, after a message, if the stream cannot be written.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(
            OSError, ValueError
        ):  # so that Python does not flush again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        say(f"standard output cannot be written: {error.strerror}")
        return 2
    return code


def _text(value: Any) -> str:
    """Format a value of a table: "yes" or "no", four digits, or "" for None.

    No character steers the terminal, but for a break of lines.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else visible(str(value), allowed="\n")


@contextlib.contextmanager
def _bar(title: str, shown: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Give a callback (done, of, note) that draws a bar if stderr is a terminal, else None."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(_text(title), total=None, note="")
        yield lambda done, total, note: drawn.update(
            task, completed=done, total=total, note=_text(note)
        )


@contextlib.contextmanager
def sweep_progress(title: str, shown: bool = True) -> Iterator[Callable | None]:
    """Show a progress bar for the events of a sweep."""
    with _bar(title, shown) as draw:
        if draw is None:
            yield None
            return

        def show(event: Any) -> None:
            note = (
                f"{event.phase}: {event.done_points}/{event.points} points, step "
                f"{event.step}/{event.steps}{_remaining_time(event.eta_seconds)}"
            )
            draw(event.done_points, event.points, note)

        yield show


@contextlib.contextmanager
def steps_progress(title: str, shown: bool = True) -> Iterator[Callable | None]:
    """Show a progress bar for consecutive steps: a callback (what, done, of, seconds left)."""
    with _bar(title, shown) as draw:
        if draw is None:
            yield None
            return

        def show(what: str, done: int, of: int, seconds: float | None) -> None:
            draw(done, of, f"{what} {done}/{of}{_remaining_time(seconds)}")

        yield show


def _remaining_time(seconds: float | None) -> str:
    """Format the remaining time, or "" if it is not known."""
    return "" if seconds is None else f", {duration(seconds)} left"


def duration(seconds: float) -> str:
    """Format a duration, in seconds (at least 1) below two minutes, else in minutes."""
    return f"{max(seconds, 1):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
