"""Processes that sweep when they are told to, and faults of file operations in this one."""

import builtins
import contextlib
import errno
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[2]
OPERATIONS = {  # of the modules of Python that the store uses
    os: ("link", "rename", "replace", "fsync", "open", "mkdir", "unlink", "rmdir", "stat"),
    io: ("open",),
    builtins: ("open",),
}
LATE = ("link", "rename", "replace", "fsync", "mkdir")  # which may fail after they were done


class Worker:
    """A process with its programs compiled, which is begun anew after it was killed."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._ready = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "properties.crew"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        )

    def begin(self, ask: dict, store: Path, **further: Any) -> None:
        """Begin a sweep."""
        if not self._ready:
            assert self._process.stdout and self._process.stdout.readline() == "ready\n"
            self._ready = True
        assert self._process.stdin
        handle, self._file = tempfile.mkstemp()
        os.close(handle)
        print(
            json.dumps({"ask": ask, "store": str(store), "file": self._file, **further}),
            file=self._process.stdin,
            flush=True,
        )

    def end(self) -> Any:
        """Its dataset, or the exception that it raised."""
        assert self._process.stdout
        assert self._process.stdout.readline() == "done\n", "a worker has ended"
        with open(self._file, "rb") as file:
            outcome = pickle.load(file)
        os.unlink(self._file)
        return outcome

    def kill(self, again: bool = True) -> None:
        """End it at once, and begin it anew."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        if again:
            self._start()


def main() -> None:
    """Sweep as each line says."""
    import jaxtheory.engine.fill
    from properties.growth import sweep

    sys.stdout = os.fdopen(os.dup(1), "w")
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        jaxtheory.engine.fill._PATIENCE = tuple(job.pop("patience"))
        file = job.pop("file")
        try:
            outcome: Any = sweep(job.pop("ask"), Path(job.pop("store")), **job).load()
        except Exception as error:
            outcome = error
        with open(file, "wb") as target:
            pickle.dump(outcome, target)
        print("done", flush=True)


class Fault:
    """Counts the file operations of a block within a folder, and has the n-th of them fail.

    kind: the exception. late: it is raised after the operation. KeyboardInterrupt is raised in the
    main thread only, as Python does.
    """

    def __init__(self, folder: Path, at: int, kind: str, late: bool):
        self.folder, self.at, self.kind, self.late = str(folder), at, kind, late
        self.seen, self.where = 0, ""
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Within: the operations are counted."""
        with contextlib.ExitStack() as stack:
            for module, names in OPERATIONS.items():
                for name in names:
                    wrapped = self._wrapped(name, getattr(module, name))
                    stack.enter_context(mock.patch.object(module, name, wrapped))
            yield

    def _wrapped(self, name: str, original: Any) -> Any:
        def operation(*args: Any, **named: Any) -> Any:
            ours = name == "fsync" or any(
                isinstance(a, str | os.PathLike) and os.fspath(a).startswith(self.folder)
                for a in args
            )
            if self.kind == "interrupt":  # not while a temporary folder is removed
                removed = name == "rmdir" or Path(str(args[0])).name.startswith(".tmp-")
                ours &= threading.current_thread() is threading.main_thread() and not removed
            if not ours:
                return original(*args, **named)
            with self._lock:
                self.seen += 1
                mine = self.seen == self.at
            if mine:
                self.where = f"{name} {args[0]}"
            if mine and not (self.late and name in LATE):
                self._raise(args)
            done = original(*args, **named)
            if mine:
                self._raise(args)
            return done

        return operation

    def _raise(self, args: tuple) -> None:
        if self.kind == "interrupt":
            raise KeyboardInterrupt
        code = getattr(errno, self.kind)
        raise OSError(code, os.strerror(code), str(args[0]))


if __name__ == "__main__":
    main()
