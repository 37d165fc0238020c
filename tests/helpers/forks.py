"""Processes that have imported jaxtheory and started nothing yet: forked, they begin at once."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SERVER = """
import json, os, sys, traceback
import jaxtheory.cli.main, xarray, zarr
from jaxtheory.engine.store import store; from jaxtheory.engine import sweep
for line in sys.stdin:
    job = json.loads(line)
    if "wait" in job:
        print(os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1]), flush=True)
        continue
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    code = 1
    try:
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        exec(job["code"], {"__name__": "child"})
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
"""


class Child(NamedTuple):
    """A forked process, and the file with its output."""

    server: subprocess.Popen
    pid: int
    output: Path

    def wait(self) -> tuple[int, str]:
        """Its exit code (-9: killed) and its output, once it has ended."""
        return int(ask(self.server, {"wait": self.pid})), self.output.read_text()


class Forks(NamedTuple):
    """A server that forks children. Their compilation cache is `folder`/cache."""

    server: subprocess.Popen
    folder: Path

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def start(self, code: str) -> Child:
        """A child that runs `code`."""
        output = self.folder / f"output-{os.urandom(4).hex()}"
        return Child(
            self.server, int(ask(self.server, {"code": code, "output": str(output)})), output
        )

    def run(self, code: str) -> tuple[int, str]:
        """The exit code of a child that runs `code`, and its output."""
        return self.start(code).wait()


def ask(server: subprocess.Popen, job: dict) -> str:
    """The server's answer to a job."""
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(job) + "\n")
    server.stdin.flush()
    return server.stdout.readline()


@contextlib.contextmanager
def forks(folder: Path, **environment: str) -> Iterator[Forks]:
    """A server of children, whose files lie in `folder`."""
    own = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder / "cache"), **environment}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield Forks(server, folder)
        server.stdin.close()
