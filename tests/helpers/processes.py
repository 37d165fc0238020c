"""The command line in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
HEEDING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from "
    "jaxtheory.cli.main import entry; entry()"
)


def jaxtheory_process(*words: str, script: str = HEEDING) -> subprocess.Popen:
    """The command line in a process that heeds SIGINT, which is ignored where the tests run in the
    background.
    """
    command = [sys.executable, "-c", script, *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
