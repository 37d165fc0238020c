"""JAX's backend in this process, or one line that says why it cannot be used. Imports no JAX."""

import functools
import importlib
import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jaxtheory.core.errors import InputError, line, suggest
from jaxtheory.system import compilation_cache

Function = TypeVar("Function", bound=Callable[..., Any])
_home = os.getpid()  # the process in which JAX may be used, see `refuse_fork`


def backend() -> str:
    """The name of JAX's backend, which is started where it was not.

    Returns:
        For instance "cpu" or "gpu".

    Raises:
        InputError: A variable of the environment keeps JAX from starting, or JAX runs in the
            process that this one was forked from.

    Example:
        >>> backend()
        'cpu'
    """
    refuse_fork()
    try:
        found: str = importlib.import_module("jax").default_backend()
    except Exception as error:
        raise InputError(_refusal(error)) from None
    return found


def computes(function: Function) -> Function:
    """Decorate a function that users call and that computes: it refuses a process in which JAX
    cannot be used, as `backend` does, and moves numbers to the device whatever JAX_TRANSFER_GUARD
    says, since a user does not see its transfers.
    """

    shown = inspect.signature(function)

    @functools.wraps(function)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            shown.bind(*args, **options)
        except TypeError as error:
            raise InputError(_misplaced(function.__name__, shown, options, str(error))) from None
        backend()
        compilation_cache.use()
        with importlib.import_module("jax").transfer_guard("allow"):
            return function(*args, **options)

    return cast(Function, guarded)


def _misplaced(name: str, shown: inspect.Signature, options: dict[str, Any], why: str) -> str:
    """The argument that a function does not take, with the closest one that it takes."""
    unknown = [word for word in options if word not in shown.parameters]
    if unknown:
        return f"unknown argument {unknown[0]!r}; {suggest(unknown[0], [*shown.parameters])}"
    return f"{name}: {why}"


def refuse_fork() -> None:
    """Refuse a process that was forked after JAX had started: JAX's threads are missing in it, so
    that its first computation would never end.

    Raises:
        InputError: This is such a process.
    """
    global _home
    if os.getpid() == _home:
        return
    if _started(importlib.import_module("jax").config):
        raise InputError(
            "JAX was already running when this process was forked, and would hang in it; start "
            "processes by multiprocessing.get_context('spawn') or 'forkserver'"
        )
    _home = os.getpid()


def _started(config: Any) -> bool:
    """Whether JAX runs: it then refuses another number of devices."""
    count = config.jax_num_cpu_devices
    try:
        config.update("jax_num_cpu_devices", count + 1)
    except RuntimeError:
        return True
    config.update("jax_num_cpu_devices", count)
    return False


def _refusal(error: Exception) -> str:
    """The reason why JAX cannot start, and the environment variable to correct."""
    said = str(error)
    named = [
        name for name in os.environ if name.startswith("JAX_") and name.lower() in said.lower()
    ]
    platforms = os.environ.get("JAX_PLATFORMS")
    if platforms and (not named or named == ["JAX_PLATFORMS"]):
        why = f" ({line(error)})" if said else ""
        return (
            f"JAX cannot start: it finds no device of JAX_PLATFORMS={platforms}{why}; set "
            "JAX_PLATFORMS to cpu, or to a platform that this machine has"
        )
    wrong = ", ".join(f"{name}={os.environ[name]}" for name in named)
    return f"JAX cannot start: {line(error)}" + (f"; correct or unset {wrong}" if named else "")


def workers() -> int:
    """How many chunks are computed side by side: JAXTHEORY_DEVICES, else the accelerators, else the
    cores of the CPU.
    """
    wanted = os.environ.get("JAXTHEORY_DEVICES", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if backend() != "cpu":
        return int(importlib.import_module("jax").local_device_count())
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
