"""Every test runs in float64, with strict dtype promotion and rank promotion an error.

Programs are compiled without optimization, by the plain emitters and as one unit each, which takes
a third of the time of compiling and with it of the tests; they run slower and round differently.
`tests/contract/test_side_by_side.py` has a subprocess that compiles as a user's would.
"""

import os

import jaxlib.version

os.environ.pop("COLUMNS", None)  # of who runs the tests: commands are as wide as it says
plain = jaxlib.version.__version_info__ < (0, 11, 1)  # XLA had them, and refuses an unknown flag
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    + " --xla_cpu_use_fusion_emitters=false" * plain,
)

# isort: split
import helpers.contexts
import helpers.slow
import helpers.typechecks
from jaxtyping import install_import_hook

# shape annotations are executed in the tests of CHECKED folders, as they take a sixth of the time;
# of core only where there are some, as hashes make 10^6 calls
CHECKED = {"contract", "core", "ops", "theories"}
TYPED = ["arrays", "extended", "from_optax", "shapes", "theory"]
install_import_hook(
    [*(f"jaxtheory.core.{name}" for name in TYPED), "jaxtheory.ops", "jaxtheory.theories"],
    "helpers.typechecks.checked",
)

# isort: split
import contextlib
import ctypes
import gc
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jaxtyping
import pytest

from jaxtheory.engine.compute import compiled
from jaxtheory.system import compilation_cache

compilation_cache.use()  # in what tests compile themselves, too
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_traceback_in_locations_limit", 0)  # no test reads them in a program
helpers.contexts.share()
# of the contract: what `jaxtheory verify` runs; padding by itself, since lanes are padded; other
# expensive checks of all examples but the first
DEAR = re.compile(
    r"test_(contract|linear_attention)\[(check |padding|(a vmapped run is the run alone|"
    "loss composes|draws under padding|gradient in float32|gradient is autodiff's|"
    "lowers for every backend).*, example [1-9])"
)
LANE = "test_contract[a vmapped run is the run alone"  # of a room's first algorithm, here
SLOW = helpers.slow.listed()
RAM = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
# beyond which compiled programs are forgotten; and the growth since, before they are so again
MAPS, MEMORY, GROWTH = 40_000, RAM // 8, RAM // 32
DESELECTED = pytest.StashKey[int]()  # the number of tests that were left out
SECONDS = 5  # between two looks at what a process holds, which take up to 50 ms
gc.freeze()  # tracing makes many objects that all live: looking for garbage seldom saves time
gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def execute_annotations(request: pytest.FixtureRequest) -> None:
    """Execute annotations in the tests of some folders."""
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    jaxtyping.config.update("jaxtyping_disable", folder not in CHECKED)


@pytest.fixture(autouse=True)
def forget_compiled_programs() -> Iterator[None]:
    """Forget compiled programs between tests where they hold too much: a process has 65530 memory
    maps, and workers share the memory of a machine. What the next tests share is compiled
    again.
    """
    yield
    if time.monotonic() < looked[0] + SECONDS:
        return
    if resident() > max(MEMORY, remaining[0] + GROWTH) or maps() > MAPS:
        compiled._compiled.clear()
        jax.clear_caches()
        helpers.contexts.renew()
        gc.collect()
        trim()
        remaining[0] = resident()
    looked[0] = time.monotonic()


looked = [0.0]
remaining = [0.0]  # bytes that this process held after it forgot


def resident() -> float:
    """The bytes that this process holds in memory; 0 where they cannot be read."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def maps() -> float:
    """The memory maps of this process; 0 where they cannot be counted."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def trim() -> None:
    """Give freed memory back to the system, where the C library can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests too")
    text = "run the slow tests too, but of a parametrized one its first slow case alone, as CI does"
    parser.addoption("--first", action="store_true", help=text)
    text = "write the table of docs/reliability.md (with tests/engine/test_faults.py)"
    parser.addoption("--reliability", action="store_true", help=text)


def slow(item: pytest.Item) -> bool:
    """Marked so; listed in `helpers.slow`; `DEAR`; of a test of tests/reference all configs but its
    first three.
    """
    case: Any = getattr(item, "callspec", None)
    indices = case.indices if case and "reference" in item.path.parts else {}
    further = indices.get("config", indices.get("index", 0)) > 2
    named = item.nodeid in SLOW or DEAR.search(item.name) is not None
    return "slow" in item.keywords or further or named


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the slow tests, which one line at the end counts; with --first, not the first slow
    case of each.
    """
    if config.getoption("--all"):
        return
    visited: set[Path] = set()
    functions: set[str] = set()  # that have a slow case among the selected
    selected, skipped = [], []
    for item in items:
        is_lane = item.name.startswith(LANE)
        is_slow, function = slow(item), item.nodeid.partition("[")[0]
        is_first = is_slow and config.getoption("--first") and function not in functions
        if (is_slow and not is_first) or (is_lane and item.path in visited):
            skipped.append(item)
            continue
        if is_lane:
            visited.add(item.path)
        if is_first:
            functions.add(function)
        selected.append(item)
    config.hook.pytest_deselected(items=skipped)
    items[:] = selected
    config.stash[DESELECTED] = len(skipped)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (message := getattr(session.config, "workeroutput", None)) is not None:
        message["slow"] = session.config.stash.get(DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each worker of xdist leaves out the same tests."""
    node.config.stash[DESELECTED] = getattr(node, "workeroutput", {}).get("slow", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if number := config.stash.get(DESELECTED, 0):
        terminalreporter.write_line(f"{number} slow tests were left out; --all runs them")
