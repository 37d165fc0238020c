"""The signals that end a command, even where the exception that they raise is lost.

Python ignores exceptions in callbacks, such as one of JAX that the garbage collector calls, and C++
code ignores those in a comparison. So the exception is raised again until the command has ended.
"""

import signal
import sys
from functools import partial
from typing import Any

_PAUSE = 0.3  # seconds


class Terminated(KeyboardInterrupt):
    """The process was asked to end, by `kill`, a scheduler or `make`."""


def listen() -> None:
    """End the command at Ctrl-C, unless that is ignored (as in the background), and at SIGTERM."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, partial(_end, KeyboardInterrupt))
    signal.signal(signal.SIGTERM, partial(_end, Terminated))
    sys.unraisablehook = _report


def stop() -> None:
    """Raise no more: the command has ended."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _end(exception: type[KeyboardInterrupt], number: int, frame: Any) -> None:
    """End the command; at once if SIGTERM asks again."""
    if number == signal.SIGTERM:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, partial(_repeat, exception))
    signal.setitimer(signal.ITIMER_REAL, _PAUSE, _PAUSE)
    raise exception


def _repeat(exception: type[KeyboardInterrupt], number: int, frame: Any) -> None:
    """Raise again, unless a `finally` or `with` is being left because of the exception."""
    handled = sys.exception()
    while handled is not None:
        if isinstance(handled, KeyboardInterrupt):
            return
        handled = handled.__context__
    raise exception


def _report(ignored: "sys.UnraisableHookArgs") -> None:
    """Report an exception that Python ignores, except those that are raised again."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
