"""Random sweeps and random programs: `make fuzz`, or `make fuzz ARGS="--minutes 60"`.

A round tries the properties of this folder on random sweeps, and then, for about as long, attacks
stores with random programs (`attack.py`). Each is a process of its own with the next seed. Rounds
follow until enough examples are tried or the time is up, or until the first finding, which ends
with the command that repeats it. Unknown options go to pytest: `-k zip`, `-n 2`. With --plant the
programs must find faults that are planted in the store (`plants.py`), each within ten minutes.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
PROPERTIES = 5
EACH = 10  # examples of each property in a round
LEAST = 1.0  # minutes of programs in a round
MOST = 10.0  # minutes in which a planted fault must be found
# programs compiled as a user's are
ENVIRONMENT = {"XLA_FLAGS": "", **os.environ, "PYTHONPATH": f"{HERE.parents[1]}:{HERE.parent}"}


def main() -> int:
    """The exit code: 1 after a finding."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=300, help="how many in all (default 300)")
    parser.add_argument("--minutes", type=float, help="for how long, instead of how many examples")
    parser.add_argument("--hypothesis-seed", type=int, help="of the first round (default random)")
    parser.add_argument("--store-seed", type=int, help="run the program of this seed alone")
    parser.add_argument("--plant", action="store_true", help="find planted faults instead")
    own, further = parser.parse_known_args()
    if own.plant:
        return planted()
    if own.store_seed is not None:
        return programs(own.store_seed, "--programs", "1")
    seed = secrets.randbelow(10**6) if own.hypothesis_seed is None else own.hypothesis_seed
    begun, tried, counts = time.monotonic(), 0, tempfile.mkstemp()[1]
    Path(counts).write_text("{}")
    code = 0
    while not code and (
        time.monotonic() - begun < 60 * own.minutes if own.minutes else tried < own.examples
    ):
        examples = EACH if own.minutes else min(EACH, -(-(own.examples - tried) // PROPERTIES))
        print(f"seed {seed}: {examples} examples of each property", flush=True)
        now = time.monotonic()
        if code := one_round(seed, examples, further):
            again = " ".join(["--examples", str(examples * PROPERTIES), *further])
            print(f"pytest ended with {code} (below 0: by this signal)", flush=True)
            print(f'repeat with: make fuzz ARGS="--hypothesis-seed {seed} {again}"', flush=True)
            break
        minutes = max(LEAST, (time.monotonic() - now) / 60)
        print(f"programs from seed {1000 * seed} for {minutes:.1f} min", flush=True)
        code = programs(1000 * seed, "--minutes", str(minutes), "--counts", counts)
        seed, tried = seed + 1, tried + examples * PROPERTIES
    tally = json.loads(Path(counts).read_text())
    os.unlink(counts)
    minutes = (time.monotonic() - begun) / 60
    print(", ".join(f"{n} {name}" for name, n in sorted(tally.items())), flush=True)
    print(f"{'a' if code else 'no'} finding in {tried} examples, {minutes:.0f} min", flush=True)
    return int(code != 0)


def one_round(seed: int, count: int, further: list[str]) -> int:
    """The exit code of pytest on `count` examples of each property."""
    options = [
        "--hypothesis-profile=fuzz",
        f"--hypothesis-seed={seed}",
        "--timeout=0",
        "-q",
        "-x",
        "--all",
    ]
    command = [sys.executable, "-m", "pytest", str(HERE), *options, *further]
    environment = {**ENVIRONMENT, "JAXTHEORY_FUZZ_EXAMPLES": str(count)}
    return subprocess.run(command, cwd=HERE.parents[1], env=environment, check=False).returncode


def programs(seed: int, *options: str) -> int:
    """The exit code of programs that attack stores: 1 after a finding."""
    command = [sys.executable, "-m", "properties.attack", "--seed", str(seed), *options]
    return subprocess.run(command, cwd=HERE.parents[1], env=ENVIRONMENT, check=False).returncode


def planted() -> int:
    """The exit code: 1 if a planted fault is not found."""
    named = [sys.executable, "-c", "from properties.plants import PLANTS; print(*PLANTS)"]
    names = subprocess.run(named, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    missed = []
    for name in names.stdout.split():
        command = [sys.executable, "-m", "properties.attack", "--plant", name]
        command += ["--seed", str(secrets.randbelow(10**6)), "--minutes", str(MOST)]
        now = time.monotonic()
        done = subprocess.run(command, cwd=HERE.parents[1], env=ENVIRONMENT, capture_output=True)
        is_detected, seconds = b"repeat with" in done.stdout, time.monotonic() - now
        print(f"{name}: {'found' if is_detected else 'missed'} in {seconds:.0f} s", flush=True)
        missed += [] if is_detected else [name]
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
