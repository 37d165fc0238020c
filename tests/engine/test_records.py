"""Records are read without the training loop and without JAX's programs."""

import subprocess
import sys

READS = """
import sys
import jaxtheory.engine.records
print(*(name for name in sys.modules if name.startswith("jaxtheory.engine.")))
"""


def test_records_import_no_programs():
    run = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["jaxtheory.engine.records"]
