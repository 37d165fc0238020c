"""JAX's backend in this process, or the reason why it cannot be used. Importing it loads no JAX."""

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jaxtheory.system import compilation_cache
from jaxtheory.texts.errors import InputError, checks_arguments, line, out_of_memory

Function = TypeVar("Function", bound=Callable[..., Any])
_home = os.getpid()  # the process in which JAX may be used, see `refuse_fork`


def backend() -> str:
    """Return the name of JAX's backend, and start it if necessary.

    Returns:
        For instance "cpu" or "gpu".

    Raises:
        InputError: An environment variable keeps JAX from starting, or JAX runs in the
            process that this one was forked from.

    Example:
        >>> backend()
        'cpu'
    """
    refuse_fork()
    try:
        name: str = importlib.import_module("jax").default_backend()
    except Exception as error:
        raise InputError(_refusal(error)) from None
    return name


def computes(function: Function) -> Function:
    """Decorate a public function that computes.

    The decorated function raises InputError for arguments that it does not take, in a process in
    which JAX cannot be used, and where memory is used up. It may transfer arrays to the device
    whatever JAX_TRANSFER_GUARD says, because these transfers are not the user's.
    """

    @functools.wraps(function)
    def guarded(*args: Any, **options: Any) -> Any:
        backend()
        compilation_cache.use()
        try:
            with importlib.import_module("jax").transfer_guard("allow"):
                return function(*args, **options)
        except (MemoryError, RuntimeError) as error:
            if (fault := out_of_memory(error)) is None:
                raise
            raise InputError(fault) from error

    return checks_arguments(cast(Function, guarded))


def refuse_fork() -> None:
    """Refuse a process that was forked after JAX had started.

    JAX's threads are missing in such a process, so its first computation would never end.

    Raises:
        InputError: This process is such a fork.
    """
    global _home
    if os.getpid() == _home:
        return
    if _started(importlib.import_module("jax").config):
        raise InputError(
            "JAX was already running when this process was forked and would hang in it; start "
            "processes with multiprocessing.get_context('spawn') or 'forkserver'"
        )
    _home = os.getpid()


def _started(config: Any) -> bool:
    """True if JAX has started: it then refuses a change of the number of devices."""
    count = config.jax_num_cpu_devices
    try:
        config.update("jax_num_cpu_devices", count + 1)
    except RuntimeError:
        return True
    config.update("jax_num_cpu_devices", count)
    return False


def _refusal(error: Exception) -> str:
    """Return the reason why JAX cannot start, and the environment variable to correct."""
    message = str(error)
    variables = [
        name for name in os.environ if name.startswith("JAX_") and name.lower() in message.lower()
    ]
    platforms = os.environ.get("JAX_PLATFORMS")
    if platforms and (not variables or variables == ["JAX_PLATFORMS"]):
        why = f" ({line(error)})" if message else ""
        return (
            f"JAX cannot start: it finds no device of JAX_PLATFORMS={platforms}{why}; set "
            "JAX_PLATFORMS to cpu, or to a platform that this machine has"
        )
    wrong = ", ".join(f"{name}={os.environ[name]}" for name in variables)
    return f"JAX cannot start: {line(error)}" + (f"; correct or unset {wrong}" if wrong else "")


def workers() -> int:
    """Return the number of chunks that are computed concurrently.

    This is JAXTHEORY_DEVICES if it is set, else the number of accelerators, else that of CPU cores.
    """
    wanted = os.environ.get("JAXTHEORY_DEVICES", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if backend() != "cpu":
        return int(importlib.import_module("jax").local_device_count())
    return cores()


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
