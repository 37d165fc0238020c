"""The properties on many random requests: `make fuzz`, or `make fuzz ARGS="--minutes 60"`.

Runs rounds of `tests/properties`, each in a process of its own and with the next seed, until
enough examples are tried or the time is up, and stops at the first finding with the command that
repeats its round. Unknown options go to pytest: `-k zip`, `-n 2`.
"""

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PROPERTIES = 5
EACH = 10  # examples of each property in a round


def main() -> int:
    """The exit code: 1 after a finding."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=300, help="how many in all (default 300)")
    parser.add_argument("--minutes", type=float, help="for how long, instead of how many examples")
    parser.add_argument("--hypothesis-seed", type=int, help="of the first round (default random)")
    own, further = parser.parse_known_args()
    seed = secrets.randbelow(10**6) if own.hypothesis_seed is None else own.hypothesis_seed
    begun, tried = time.monotonic(), 0
    while time.monotonic() - begun < 60 * own.minutes if own.minutes else tried < own.examples:
        each = EACH if own.minutes else min(EACH, -(-(own.examples - tried) // PROPERTIES))
        print(f"seed {seed}: {each} examples of each property", flush=True)
        if code := one_round(seed, each, further):
            again = " ".join(["--examples", str(each * PROPERTIES), *further])
            print(f"pytest ended with {code} (below 0: by this signal)", flush=True)
            print(f'repeat with: make fuzz ARGS="--hypothesis-seed {seed} {again}"', flush=True)
            return 1
        seed, tried = seed + 1, tried + each * PROPERTIES
    print(f"no finding in {tried} examples, {(time.monotonic() - begun) / 60:.0f} min", flush=True)
    return 0


def one_round(seed: int, each: int, further: list[str]) -> int:
    """The exit code of pytest on `each` examples of every property."""
    options = ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", "--timeout=0", "-q", "-x"]
    command = [sys.executable, "-m", "pytest", str(HERE), *options, *further]
    # programs compiled as a user's are
    environment = {"XLA_FLAGS": "", **os.environ, "JAXTHEORY_FUZZ_EXAMPLES": str(each)}
    return subprocess.run(command, cwd=HERE.parents[1], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
