"""Progress bar of a sweep, which a notebook shows by default."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

from jaxtheory.engine.execution.progress import Progress
from jaxtheory.texts.errors import InputError, brief, require_arguments

Listener = Callable[[Progress], Any] | bool | None  # what `progress=` takes

_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


def listener(progress: Listener, title: str) -> Callable[[Progress], Any] | None:
    """Return the progress callback of a sweep, or None.

    Args:
        progress: A function; True for a bar, False for nothing, None for a bar in a notebook only.
        title: The title of the bar.

    Returns:
        The function, or that of a new bar.

    Raises:
        InputError: `progress` is neither of these.
    """
    if callable(progress):
        require_arguments("progress", progress, "event")
        return progress
    if not (progress is None or isinstance(progress, bool)):
        raise InputError(
            f"progress = {brief(progress)}: must be a function, True for a bar, False for nothing, "
            "or None for a bar in a notebook only"
        )
    return _bar(title) if progress or (progress is None and in_notebook()) else None


def in_notebook() -> bool:
    """Return True if this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _bar(title: str) -> Callable[[Progress], None]:
    """Show a bar that each event moves, and close it when all points are finished."""
    with warnings.catch_warnings():  # a notebook without ipywidgets gets a bar of characters
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

        drawn = tqdm(total=1.0, desc=f"{title}: compile", bar_format=_FORMAT, miniters=0)

    def show(event: Progress) -> None:
        drawn.set_description_str(f"{title}: {event.phase}", refresh=False)
        step = f", step {event.step}/{event.steps}" if event.steps else ""
        text = f"{event.done_points}/{event.points} points{step}"
        drawn.set_postfix_str(text, refresh=False)
        if event.phase == "resume":  # what was done before says nothing of the speed
            drawn.initial = event.share
        drawn.update(event.share - drawn.n)
        if event.done_points == event.points:
            drawn.set_description_str(title, refresh=False)
            drawn.close()

    return show
