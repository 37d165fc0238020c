"""Times of whole processes: first sweeps, start-up, a million walks and `make test`.

The goal of a row is an upper limit in seconds. Its floor is a process that only imports libraries:
JAX with its backend, optax, xarray and zarr where a command trains or reads results, and none
elsewhere.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import Group, Line
from benchmarks.timing import ROUNDS, Side

from jaxtheory.theories import names

ROOT = Path(__file__).parents[2]
PYTHON, JAXTHEORY = (sys.executable, "-c"), (sys.executable, "-m", "jaxtheory")
HIDDEN = ("JAX_ENABLE_COMPILATION_CACHE", "PYTHONPATH", "ARGS", "MAKEFLAGS", "MAKEOVERRIDES")
NOTHING, IMPORTS = "pass", "import jax, optax, xarray, zarr; jax.devices()"
FIRST = """
import jaxtheory
theory = jaxtheory.theories.get("{}")
jaxtheory.sweep(theory, theory.Config(), seeds=4, steps=30)
"""
SMALL = "sweep random_walk --vary learning_rate=0.5,1,2 --seeds 4 --steps 30"
STORED = "run groups_pretraining"
PLANNED = """
import jaxtheory, numpy
from jaxtheory.theories import random_walk
rates = numpy.linspace(0.01, 0.5, 10**6)
jaxtheory.plan(random_walk, random_walk.Config(), vary={"learning_rate": rates}, steps=5)
"""
WALKS = """
import jaxtheory, sys
from jaxtheory.theories import random_walk
sizes = dict(num_states=5, length=25, num_sequences=20, encoding_dim=125, num_test=100)
config = random_walk.Config(**sizes)
p, options = [round(0.05 + 0.1 * i, 2) for i in range(10)], {"steps": 50, "record": [0, 50]}
jaxtheory.sweep(random_walk, config, vary={"p": p}, seeds=10**5, store="walks", **options)
(peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print("a million walks, the most memory:", peak, file=sys.stderr)
"""


class Process(NamedTuple):
    """A command, run in a folder and with a compilation cache of a place. Both are new and empty
    for each run if they have no name. path: of Python's modules.
    """

    words: tuple[str, ...]
    place: Path
    folder: str = ""
    cache: str = ""
    path: Path | None = None

    def run(self) -> None:
        """Wait for its end. Raises CalledProcessError if it fails."""
        new = lambda name: self.place / name if name else Path(tempfile.mkdtemp(dir=self.place))
        folder = new(self.folder)
        folder.mkdir(exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        environment["XDG_CACHE_HOME"] = str(new(self.cache))
        if self.path is not None:
            environment["PYTHONPATH"] = str(self.path)
        subprocess.run(
            self.words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL
        )


def groups() -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as folder:
        yield from within(Path(folder))


def within(place: Path) -> Iterator[Group]:
    """The groups, whose processes write into this folder."""
    code = lambda text: Process((*PYTHON, text), place)
    command = lambda words, **options: Process((*JAXTHEORY, *words.split()), place, **options)
    for theory in names():
        words = "default config; 4 seeds x 30 steps; empty compilation cache"
        yield group(theory, "first sweep", words, code(FIRST.format(theory)), 3, rounds=3)
    listing = command("list", path=figures(place / "many"))
    warm = command(SMALL, cache="warm")
    stored = command(STORED, cache="warm", folder="stored")
    start = "start-up"
    yield group(start, "import", "import jaxtheory", code("import jaxtheory"), 0.05, NOTHING)
    yield group(start, "help", "jaxtheory --help", command("--help"), 0.25, NOTHING)
    yield group(start, "list", "jaxtheory list; 1,000 figures more", listing, 2, NOTHING)
    yield group(start, "plan", "10^6 values on one axis", code(PLANNED), 2)
    yield group(start, "warm sweep", f"jaxtheory {SMALL}", warm, 1.9)
    yield group(start, "stored figure", f"jaxtheory {STORED}", stored, 1.2)
    walks = "K = 5, N = 25, M = 125, B = 20, Bt = 100; 10 values of p x 100000 seeds x 50 steps"
    yield group("random_walk", "10^6 runs into a store", walks, code(WALKS), 100, rounds=0)
    test = Process(("make", "-C", str(ROOT), "test"), place)
    yield group("tests", "make test", "empty compilation cache", test, 300, NOTHING, rounds=0)


def group(
    theory: str,
    name: str,
    setting: str,
    process: Process,
    goal: float,
    imports: str = IMPORTS,
    rounds: int = ROUNDS,
) -> Group:
    """The row of a process and its floor. With rounds = 0 each runs once."""
    floor = Process((*PYTHON, imports), process.place)
    sides = {"process": Side(process.run), "imports": Side(floor.run)}
    line = Line(name, "process", "imports", "within", goal)
    return Group(theory, setting, sides, [line], {}, rounds=rounds)


def figures(folder: Path) -> Path:
    """A folder with an installed package that offers 1,000 figures."""
    about = folder / "many-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "many.py").write_text("import jax\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: many\nVersion: 1.0\n")
    offered = "\n".join(f"figure_{i} = many:FIGURE_{i}" for i in range(1000))
    (about / "entry_points.txt").write_text(f"[jaxtheory.figures]\n{offered}\n")
    return folder
