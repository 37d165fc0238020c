"""The README's example runs as it stands, in a process of its own, compiled as a user's."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_the_example_runs() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={name: value for name, value in os.environ.items() if name != "XLA_FLAGS"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "clockwise_probability: 3, num_states: 2" in done.stdout
