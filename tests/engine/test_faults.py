"""Injected faults: no result of a sweep is lost.

The first line of each test names its fault. What it passes to `outcome` is the row of the fault in
docs/reliability.md, which `make reliability` writes. The last test compares the names of the rows
with those of the tests.
"""

import contextlib
import errno
import inspect
import io
import itertools
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest
import xarray as xr
from helpers.forks import Child, forks
from helpers.machine import in_words, machine
from helpers.stores import dataset_folder, lose_dataset, parts
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, open_store, sweep
from jaxtheory.cli import export
from jaxtheory.system.compilation_cache import _damaged, repair

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
HEAD = "| fault | what happens | data |\n|---|---|---|\n"

SMALL = {
    "vary": {"eta": [0.1, 0.2]},
    "seeds": 3,
    "steps": 4,
    "dtype": "float64",
    "buckets": "exact",
}
WORDS = "--set d=3 --vary eta=.1,.2,.3 --seeds 4 --steps 20 --record 1 --dtype float64 "
WORDS += "--buckets exact"
FEWER = "--vary eta=.1,.2 --set d=3 --seeds 2 --steps 2 --dtype float64"
COMMAND = """
import os, time
from jaxtheory.cli import main
{before}
raise SystemExit(main.main(["sweep", {example!r}, *{words!r}.split(), "--store", {store!r}]))
"""
SET = "import jax; jax.config.update({name!r}, {value!r})"
SAYS = """
from jaxtheory.engine.store.store import Store
scratch = Store.scratch
def said(self):
    print("assembling", flush=True)
    return scratch(self)
Store.scratch = said
write = Store.write
def wrote(self, *given):
    write(self, *given)
    print("part", flush=True)
Store.write = wrote
"""


def command(store, before="", words=WORDS):
    """The code of `jaxtheory sweep EXAMPLE ... --store STORE`, with something done before."""
    before = textwrap.dedent(before)
    return COMMAND.format(before=before, example=str(EXAMPLE), words=words, store=str(store))


def data(store):
    return xr.open_zarr(store / "data.zarr").load()


def one_line(code, text, *words):
    """A refusal: exit code 2, one line that has some words, and no traceback."""
    assert code == 2 and text.count("\n") == 1 and "Traceback" not in text, text
    assert all(word in text for word in words), text


# the table of faults


@pytest.fixture(scope="module")
def rows(request):
    """(what happens, data) by fault; written to the page with --reliability."""
    outcomes = {}
    yield outcomes
    if request.config.getoption("--reliability"):
        assert list(outcomes) == faults(), "run all of the file, where a tmpfs can be mounted"
        lines = (f"| {name} | {happens} | {got} |\n" for name, (happens, got) in outcomes.items())
        where = in_words(machine("jax", "jaxlib", "xarray", "zarr", "numpy"))
        text = f"{HEAD}{''.join(lines)}\nMade by `make reliability`: {where}; {platform.system()}\n"
        PAGE.write_text(PAGE.read_text().partition(HEAD)[0] + text)


@pytest.fixture
def outcome(request, rows):
    """Keep what happened and what became of the data."""
    return lambda happens, got="equal": rows.update({title(request.function): (happens, got)})


def title(function):
    return " ".join(inspect.getdoc(function).split("\n\n")[0].split()).rstrip(".")


def faults():
    """The faults of this file, in its order."""
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    return [title(f) for f in tests if "outcome" in inspect.signature(f).parameters]


# processes


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    with forks(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.fixture(scope="module")
def reference(forked):
    """The dataset of an undisturbed sweep."""
    store = forked.folder / "whole"
    assert forked.run(command(store)) == (0, output(store))
    return data(store)


def output(store):
    """What the command says of a finished store."""
    with contextlib.redirect_stdout(io.StringIO()) as table:
        export.print_summary(data(store))
    return (
        f"store     {store}\ndataset   {store / 'data.zarr'}\n"
        "dims      learning_rate 3, seed 4, step 21, coordinate 3\n"
        "variables diverged_at, loss, predicted_loss, rounded_loss, weights\n" + table.getvalue()
    )


def until(child: Child, *words, seconds=120):
    """Wait until a child has said one of some words."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if child.output.exists() and any(word in child.output.read_text() for word in words):
            return
        time.sleep(0.002)
    raise AssertionError(f"said nothing of {words}")


@pytest.mark.slow
def test_killed(forked, reference, outcome):
    """`kill -9` at 20 random moments of a sweep, also while its dataset is assembled"""
    rng, stages = random.Random(20), Counter()
    at, child = [time.monotonic()], forked.start(command(forked.folder / "timed", SAYS))
    for word in ("part", "assembling", "variables"):
        until(child, word)
        at.append(time.monotonic())
    child.wait()
    starting, writing, assembling = (b - a for a, b in itertools.pairwise(at))
    moments = [((), starting), (("part", "assembling"), writing), (("assembling",), assembling)]
    for trial in range(4):
        store = forked.folder / f"killed{trial}"
        for words, span in (*moments, *moments[:2]):
            code = 0
            while code != -9:  # until it is hit before its end
                lose_dataset(store)
                child = forked.start(command(store, SAYS))
                if words:
                    until(child, *words)
                time.sleep(rng.uniform(0, span))
                os.kill(child.pid, 9)
                code, said = child.wait()
                assert code in (0, -9), said
            parts = len(list((store / "parts").glob("[0-9a-f]*.part")))
            stages["in assembly" if "assembling" in said else f"with {parts} of 4 parts"] += 1
        assert forked.run(command(store)) == (0, output(store))
        assert data(store).identical(reference) and not list(store.rglob(".tmp*"))
    assert stages["in assembly"] >= 4 and stages.total() == 20
    when = ", ".join(f"{n} {stage}" for stage, n in sorted(stages.items()))
    outcome(f"the same command completes the store; killed {when}")


def test_two_and_four_processes(forked, reference, outcome):
    """Two and four processes that run the same sweep in one store at the same time"""
    for count in (2, 4):
        store = forked.folder / f"shared{count}"
        children = [forked.start(command(store)) for _ in range(count)]
        assert [child.wait() for child in children] == [(0, output(store))] * count
        assert data(store).identical(reference) and not list(store.rglob(".tmp*"))
    outcome("all succeed; the first complete dataset stays")


@pytest.mark.slow
def test_threads(forked, outcome):
    """24 threads that sweep in one process at the same time, four in each of six stores"""
    code = f"""
    import threading, warnings, jaxtheory
    theory = jaxtheory.theories.load({str(EXAMPLE)!r}).THEORY
    filters, found = list(warnings.filters), {{}}
    def go(i, **store):
        config, vary = theory.Config(dimension=2 + i % 2), {{"eta": [.1, .2]}}
        data = jaxtheory.sweep(theory, config, vary=vary, seeds=4, key=i % 6, steps=4, **store)
        found[i] = data
    store = {str(forked.folder / "threads")!r}
    at = [{{"store": f"{{store}}{{i % 6}}"}} for i in range(24)]
    threads = [threading.Thread(target=go, args=(i,), kwargs=at[i]) for i in range(24)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    together = dict(found)
    [go(i) for i in range(6)]
    assert all(together[i].identical(found[i % 6]) for i in range(24))
    assert [kept for kept in warnings.filters if kept in filters] == filters  # imports add some
    """
    code, said = forked.run(textwrap.dedent(code))
    assert code == 0 and all("waiting for" in line for line in said.splitlines()), said
    outcome("all succeed; the warning filters of the process are unchanged")


# the disk


def test_a_limit_on_the_size_of_files(forked, reference, outcome):
    """A limit on the size of files, reached by the manifest, by a part and by the dataset"""
    store, like = forked.folder / "limited", forked.folder / "whole"
    manifest, part, largest = (
        max(file.stat().st_size for file in like.glob(files) if file.is_file())
        for files in ("parts/*.json", "parts/*.part", "data.zarr/**/*")
    )
    assert 1000 < manifest < manifest + 300 < part < part + 300 < largest
    for size, count in ((manifest - 300, 0), (manifest + 150, 0), (part + 150, 4)):
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
        one_line(*forked.run(command(store, limit)), f"store {store}", "free space")
        assert not list(store.rglob(".tmp*")) and not (store / "data.zarr").exists()
        assert len(list(store.glob("parts/*.json"))) == (size > manifest)
        assert len(list(store.glob("parts/*.part"))) == count
    assert forked.run(command(store)) == (0, output(store)) and data(store).identical(reference)
    outcome(
        "one-line error; with more room, the same command completes the sweep", "equal afterwards"
    )


def test_a_full_disk(forked, reference, outcome):
    """A full disk, reached by the manifest, by a part and by the dataset"""
    disk = forked.folder / "disk"
    disk.mkdir()
    mount = lambda options: subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True, check=False
    )
    if shutil.which("mount") is None or mount("size=4k").returncode:
        pytest.skip("mounting a small tmpfs is not allowed here")
    store = disk / "run"
    try:
        (disk / "room").write_bytes(bytes(4096))
        for size, counts in (("4k", range(1)), ("48k", range(1, 5)), ("100k", range(4, 5))):
            assert mount(f"remount,size={size}").returncode == 0
            one_line(*forked.run(command(store)), f"store {store}", "No space left on device")
            assert not list(store.rglob(".tmp*")) and not (store / "data.zarr").exists()
            assert (store / "manifest.json").exists() == (size != "4k")
            assert len(list(store.glob("parts/*.part"))) in counts
        assert mount("remount,size=16m").returncode == 0
        assert forked.run(command(store)) == (0, output(store))
        assert data(store).identical(reference)
    finally:
        subprocess.run(["umount", disk], check=True)
    outcome(
        "one-line error; with more room, the same command completes the sweep", "equal afterwards"
    )


WITHOUT_PRIVILEGES = """
import ctypes
if os.geteuid() == 0:  # whom no permission stops
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, nothing) == 0
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="capabilities are Linux's")
def test_a_read_only_directory(forked, reference, outcome):
    """No permission to write: beside a new store, in an unfinished and in a finished store"""
    place = forked.folder / "read-only"
    done, half = place / "done", place / "half"
    shutil.copytree(forked.folder / "whole", done)
    shutil.copytree(done, half)
    lose_dataset(half)
    flip(next((half / "parts").iterdir()), 99)
    names = ("parts", "states", "data", "data.zarr")
    inside = [store / name for store in (half, done) for name in names]
    for folder in (place, half, done, *filter(Path.exists, inside)):
        folder.chmod(0o500)
    for store in (place / "new", half):
        one_line(*forked.run(command(store, WITHOUT_PRIVILEGES)), f"store {store}", "denied")
    assert forked.run(command(done, WITHOUT_PRIVILEGES)) == (0, output(done))
    for folder in (place, half, *(half / name for name in names[:-1])):
        folder.chmod(0o700)
    assert forked.run(command(half)) == (0, output(half)) and data(half).identical(reference)
    outcome("one-line error; the finished store can be read", "equal once it can be written")


def test_no_hard_links(tmp_path, outcome, monkeypatch):
    """A file system without hard links"""

    def refused(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(InputError, match="run: Operation not permitted; choose a writable") as said:
        sweep(THEORY, Config(dimension=3), store=tmp_path / "run", **SMALL)
    assert "\n" not in str(said.value) and not list(tmp_path.rglob("*.*"))
    outcome("one-line error", "none")


def test_the_clock_goes_backwards(forked, reference, outcome):
    """A clock that goes back a minute at each reading, and parts written an hour in the future"""
    store = forked.folder / "clock"
    backwards = """
    now = [time.time()]
    def earlier():
        now[0] -= 60
        return now[0]
    time.time = earlier
    time.time_ns = lambda: int(earlier() * 1e9)
    """
    assert forked.run(command(store, backwards)) == (0, output(store))
    assert data(store).identical(reference)
    for file in store.glob("parts/*"):
        os.utime(file, times=(time.time() + 3600,) * 2)
    inode = (store / "data.zarr").stat().st_ino
    assert forked.run(command(store)) == (0, output(store))
    assert data(store).identical(reference) and (store / "data.zarr").stat().st_ino == inode
    outcome("no effect; the dataset is not written again")


# damage


def flip(file, at, bit=0):
    """Change one bit of a file."""
    changed = bytearray(file.read_bytes())
    changed[at % len(changed)] ^= 1 << bit
    file.write_bytes(changed)


def harm(file, rng):
    """Truncate a file, flip one of its bits or delete it, and return which."""
    kind = rng.choice(["truncated", "flipped", "deleted"])
    size = file.stat().st_size
    if kind == "deleted":
        file.unlink()
    elif kind == "flipped":
        flip(file, rng.randrange(size), rng.randrange(8))
    else:
        os.truncate(file, rng.randrange(size))
    return kind


@pytest.mark.slow
def test_damaged_results(tmp_path, outcome):
    """A part and a file below `data` truncated, bit-flipped or deleted, at 60 random places"""
    rng, kinds, run = random.Random(60), Counter(), tmp_path / "run"
    first = sweep(THEORY, Config(dimension=3), store=run, **SMALL)
    for _ in range(60):
        files = [f for f in sorted(run.glob("data/**/*")) if f.is_file()]
        kinds[harm(rng.choice(files), rng)] += 1
        kinds[harm(rng.choice(sorted(run.glob("parts/*.part"))), rng)] += 1
        assert sweep(THEORY, Config(dimension=3), store=run, **SMALL).identical(first)
    counted = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    outcome(f"detected and written again ({counted})")


@pytest.mark.slow
def test_a_damaged_description(tmp_path, outcome):
    """The description of a rectangle truncated, bit-flipped or deleted, at 30 random places"""
    rng, kinds, run = random.Random(63), Counter(), tmp_path / "run"
    first = sweep(THEORY, Config(dimension=3), store=run, **ASKED)
    (file,) = run.glob("parts/*.json")
    text = file.read_bytes()
    for _ in range(30):
        lose_dataset(run)
        kinds[harm(file, rng)] += 1
        assert stored(run).identical(first)
        assert file.read_bytes() == text
    counted = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    outcome(f"detected and written again; no run is computed again ({counted})")


def test_a_damaged_manifest(tmp_path, outcome):
    """manifest.json truncated, bit-flipped or deleted, at 60 random places"""
    rng, run, refused = random.Random(61), tmp_path / "run", 0
    first = sweep(THEORY, Config(dimension=3), store=run, **SMALL)
    file = run / "manifest.json"
    text = file.read_bytes()
    for _ in range(60):
        harm(file, rng)
        try:
            assert sweep(THEORY, Config(dimension=3), store=run, **SMALL).identical(first)
        except InputError as error:
            refused += 1
            assert "choose another directory for store=" in str(error) and "\n" not in str(error)
        file.write_bytes(text)
    assert refused > 50
    outcome("one-line error that asks for another directory", "kept, not used")


# a store that is asked for more

ASKED = {
    "vary": {"eta": [0.1, 0.2, 0.3]},
    "seeds": 4,
    "steps": 20,
    "record": 1,
    "dtype": "float64",
    "buckets": "exact",
}
PAUSE = """
from jaxtheory.engine import fill
from jaxtheory.engine.execution import chunk_task
original = chunk_task.run_chunk
def paused(*given):
    print("computing", flush=True)
    while not os.path.exists({go!r}):
        time.sleep(0.01)
    return original(*given)
chunk_task.run_chunk = paused
fill._PATIENCE = {patience!r}
"""


def paused(go, patience=(600.0, 600.0)):
    """Code that makes a child wait for a file before it computes a chunk."""
    return PAUSE.format(go=str(go), patience=patience)


def asks(**more):
    """The words of the command that asks for ASKED with some changes."""
    options = ASKED | more
    eta = ",".join(map(str, options["vary"]["eta"]))
    return (
        f"--set d=3 --vary eta={eta} --seeds {options['seeds']} --steps {options['steps']} "
        "--record 1 --dtype float64 --buckets exact"
    )


def stored(store, **more):
    """The dataset of a request, of which everything is in the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "jaxtheory.engine.execution.chunk_task.run_chunk", None
        )  # nothing is computed
        return sweep(THEORY, Config(dimension=3), store=store, **ASKED | more).load()


DIRECTIONS = (
    ({"seeds": 6}, {"steps": 40}),
    ({"steps": 40}, {"steps": 30}),
    ({"vary": {"eta": [0.1, 0.2, 0.4]}}, {"vary": {"eta": [0.05, 0.2, 0.3]}, "seeds": 5}),
)


@pytest.mark.slow
def test_two_processes_that_ask_for_more(forked, reference, outcome):
    """Two processes that extend one store at the same time: for more seeds and more steps,
    for 40 and 30 steps, for different values and seeds
    """
    for i, (one, two) in enumerate(DIRECTIONS):
        store, serial = (forked.folder / f"{name}{i}" for name in ("more", "serial"))
        for folder in (store, serial):
            shutil.copytree(forked.folder / "whole", folder)
        go = forked.folder / f"go{i}"
        first = forked.start(command(store, paused(go), asks(**one)))
        until(first, "computing")
        second = forked.start(command(store, words=asks(**two)))
        time.sleep(0.2)
        go.touch()
        assert (first.wait()[0], second.wait()[0]) == (0, 0)
        for more in (one, two):
            assert forked.run(command(serial, words=asks(**more)))[0] == 0
        for more in (one, two, {}):
            assert stored(store, **more).identical(stored(serial, **more))
        assert not list(store.rglob(".tmp*"))
    outcome("both succeed", "equal to the same calls one after the other")


@pytest.mark.slow
def test_read_while_it_is_extended(forked, reference, outcome):
    """A finished store that is read while another process computes more seeds and is killed"""
    store, go = forked.folder / "read", forked.folder / "go-read"
    shutil.copytree(forked.folder / "whole", store)
    first = forked.start(command(store, paused(go), asks(seeds=6)))
    until(first, "computing")
    for _ in range(2):
        assert open_store(store).identical(reference) and data(store).identical(reference)
        assert forked.run(command(store)) == (0, output(store))
        if first.pid:
            os.kill(first.pid, 9)
            first.wait()
            first = first._replace(pid=0)
    lazy = open_store(store)
    assert forked.run(command(store, words=asks(seeds=6)))[0] == 0
    assert lazy.identical(reference) and stored(store).identical(reference)
    more = stored(store, seeds=6)
    assert data(store).identical(more) and more.isel(seed=slice(4)).equals(reference)
    outcome("the reader has the finished dataset at once; the same command completes the other")


@pytest.mark.slow
def test_a_frozen_process(forked, reference, outcome):
    """A process that is frozen while it computes chunks, and wakes up later"""
    store, go = forked.folder / "frozen", forked.folder / "go-frozen"
    first = forked.start(command(store, paused(go)))
    until(first, "computing")
    os.kill(first.pid, signal.SIGSTOP)
    impatient = "from jaxtheory.engine import fill\nfill._PATIENCE, fill._NOTICE = (0.5, 0.5), 60.0"
    assert forked.run(command(store, impatient)) == (0, output(store))
    assert data(store).identical(reference)
    inodes = {file: file.stat().st_ino for file in parts(store)}
    go.touch()
    os.kill(first.pid, signal.SIGCONT)
    code, said = first.wait()
    assert code == 0 and said.endswith(output(store)) and data(store).identical(reference)
    assert inodes == {file: file.stat().st_ino for file in parts(store)}
    outcome("its chunks are computed by another process; when it wakes up, it uses their parts")


@pytest.mark.slow
def test_locks_that_stop_nobody(forked, reference, outcome):
    """Two processes where every lock succeeds and folder listings lack the parts, as can happen
    on a network file system
    """
    store, go = forked.folder / "no-locks", forked.folder / "go-no-locks"
    blind = """
    from pathlib import Path
    from jaxtheory.system import locks
    locks._lock_byte = lambda *_: True
    locks.flock = lambda *_, **__: None
    listed = Path.iterdir
    Path.iterdir = lambda path: (file for file in listed(path) if file.suffix != ".part")
    """
    blind = textwrap.dedent(blind)
    first = forked.start(command(store, blind + paused(go)))
    until(first, "computing")
    assert forked.run(command(store, blind)) == (0, output(store))
    inodes = {file: file.stat().st_ino for file in parts(store)}
    go.touch()
    code, said = first.wait()
    assert code == 0 and said.endswith(output(store)) and data(store).identical(reference)
    assert inodes == {file: file.stat().st_ino for file in parts(store)}
    outcome("chunks are computed twice; the first part of each stays")


@pytest.mark.slow
def test_metrics_that_are_recorded_early_only(tmp_path, outcome):
    """More steps, twice, in a store whose metrics are recorded early only"""
    for name, record in {"one": {"loss": [0, 5], "weights": 10}, "all": [0, 10]}.items():
        options = {**ASKED, "record": record}
        for steps in (10, 20, 40):
            more = options | {"steps": steps}
            data = sweep(THEORY, Config(dimension=3), store=tmp_path / name, **more)
        assert data.identical(sweep(THEORY, Config(dimension=3), **more))
        assert list(data.loss.dropna("step").step) == [0, 5 if name == "one" else 10]
    outcome("the early records are kept")


@pytest.mark.slow
def test_a_store_copied_into_another(tmp_path, outcome):
    """The parts of another store copied into a store: of other seeds, and of another key"""
    run, seeds, foreign = tmp_path / "run", tmp_path / "seeds", tmp_path / "other"
    first = sweep(THEORY, Config(dimension=3), store=run, **ASKED).load()
    second = sweep(THEORY, Config(dimension=3), store=seeds, **ASKED | {"seeds": [2, 9]}).load()
    sweep(THEORY, Config(dimension=3), store=foreign, key=1, **ASKED)
    for source in (foreign, seeds):
        shutil.copytree(source / "parts", run / "parts", dirs_exist_ok=True)
    assert stored(run).identical(first)
    union = stored(run, seeds=[0, 1, 2, 3, 9])
    assert union.sel(seed=[0, 1, 2, 3]).equals(first)
    assert union.sel(seed=[9]).equals(second.sel(seed=[9]))
    assert union.sel(seed=[2]).equals(stored(run, seeds=[2]))
    outcome("runs of the same kind serve larger requests without computing; others are ignored")


@pytest.mark.slow
def test_another_processor(forked, reference, outcome):
    """An unfinished store that is continued on another processor or with other XLA_FLAGS"""
    common = os.environ["XLA_FLAGS"]
    for name, flag in (("target", "max_isa=SSE4_2"), ("xla_flags", "enable_fast_math=true")):
        store = forked.folder / f"another-{name}"
        shutil.copytree(forked.folder / "whole", store)
        with forks(forked.folder, XLA_FLAGS=f"{common} --xla_cpu_{flag}") as elsewhere:
            assert elsewhere.run(command(store)) == (0, output(store))  # finished: it is read
            lose_dataset(store)
            parts(store)[0].unlink()
            one_line(*elsewhere.run(command(store)), f", now {name} ", "--accept-versions")
            accepted = forked.folder / f"accepted-{name}"
            shutil.copytree(store, accepted)
            words = f"{WORDS} --accept-versions"
            assert elsewhere.run(command(accepted, words=words))[0] == 0
        assert name in data(accepted).attrs["accepted_versions"]
        assert forked.run(command(store)) == (0, output(store)) and data(store).identical(reference)
    outcome(
        "one-line error; `--accept-versions` computes, and the dataset names both",
        "equal on the first processor",
    )


SESSION = """
import jax.numpy as jnp, jaxtheory, os
from jaxtheory import Algorithm, Theory
FACTOR = {factor}
class Config(jaxtheory.Config):
    eta: float = jaxtheory.traced(0.1, "eta", "step size", "(0, inf)")
def problem(key, config):
    return ()
def sample(key, problem, config):
    return ()
def init(key, problem, config):
    return jnp.ones(())
def loss(params, batch, problem, config):
    return FACTOR * params**2 / 2
def gradient(params, batch, problem, config):
    return FACTOR * params
def step(key, t, state, batch, problem, config):
    return state - config.eta * gradient(state, batch, problem, config)
def metrics(params, problem, config):
    return {{"distance": params}}
theory = Theory("session", Config, problem, sample, init, loss, gradient,
    algorithms={{"gd": Algorithm(init, step)}}, metrics=metrics, examples=(Config(),))
def values(**more):
    data = jaxtheory.sweep(theory, Config(), vary={{"eta": [0.1, 0.2]}}, steps=5, **more)
    print(data.distance.values.tolist())
values(store={store!r})
"""
AFTERWARDS = """
FACTOR = 3.0
values()
values(store={new!r})
try:
    values(store={store!r})
except jaxtheory.InputError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_constant_bound_anew(forked, outcome):
    """A constant of a theory whose value changes between two sweeps of one session"""
    stores = [str(forked.folder / f"session{i}") for i in range(3)]
    _, expected = forked.run(SESSION.format(factor=3.0, store=stores[0]))
    code = SESSION.format(factor=1.0, store=stores[1])
    code, said = forked.run(code + AFTERWARDS.format(store=stores[1], new=stores[2]))
    first, *again, refusal = said.splitlines(keepends=True)
    assert code == 0 and again == [expected] * 2 and first != expected
    one_line(2, refusal, stores[1], "the code of session has changed", "choose another directory")
    outcome("new sweeps use the new value; the store of the old value is a one-line error")


# files of others


def test_foreign_results(tmp_path, outcome):
    """Parts and a dataset of another key, a part under the name of another, copies made by other
    programs
    """
    first = {
        k: sweep(THEORY, Config(dimension=3), store=tmp_path / f"{k}", key=k, **SMALL)
        for k in (0, 1)
    }
    run, foreign = tmp_path / "0", tmp_path / "1"
    faults = (
        lambda: shutil.copy(parts(foreign)[0], parts(run)[0]),
        lambda: shutil.copy(parts(run)[1], parts(run)[0]),
        lambda: shutil.copy(
            parts(run)[0], run / "parts" / f"{parts(run)[0].stem} (conflicted copy).part"
        ),
        lambda: shutil.copy(
            parts(run)[0], run / "parts" / f"{parts(run)[0].stem}.sync-conflict-1.part"
        ),
        lambda: shutil.copytree(dataset_folder(foreign), run / "data" / name),
    )
    name = dataset_folder(run).name
    for fault in faults:
        lose_dataset(run)
        fault()
        assert sweep(THEORY, Config(dimension=3), store=run, **SMALL).identical(first[0])
    outcome("foreign files are replaced by recomputed ones; copies are ignored")


def test_names_that_are_addresses_elsewhere(tmp_path, outcome, monkeypatch):
    """A store named `exp::v2`, `memory://exp` or `~no-such-user`"""
    monkeypatch.chdir(tmp_path)
    Path("exp").mkdir()
    Path("exp/notes").write_text("keep")
    plain = sweep(THEORY, Config(dimension=3), **SMALL)
    for name in ("exp::v2", "memory://exp", "~no-such-user"):
        assert sweep(THEORY, Config(dimension=3), store=name, **SMALL).identical(plain)
        assert (tmp_path / name / "data.zarr" / "zarr.json").is_file()
    assert Path("exp/notes").read_text() == "keep"
    outcome("treated as plain folder names; neighbors are untouched")


HOSTS = """
import socket
os.getpid, socket.gethostname = lambda: 7, lambda: "node"
"""


def test_two_machines_of_one_name(forked, reference, outcome):
    """Two machines or containers of the same name and process number, one killed in assembly"""
    store = forked.folder / "hosts"
    wait = """
    from jaxtheory.engine.store import archive
    write = archive.write_zarr
    def waits(dataset, target):
        write(dataset, target)
        print("written", flush=True)
        time.sleep(600)
    archive.write_zarr = waits
    """
    first = forked.start(command(store, HOSTS + textwrap.dedent(wait)))
    until(first, "written")
    (target,) = (folder for folder in store.glob("data/.tmp-*/*/data.zarr"))
    contents = sorted(target.rglob("*"))
    assert forked.run(command(store, HOSTS)) == (0, output(store))
    assert data(store).identical(reference) and sorted(target.rglob("*")) == contents
    os.kill(first.pid, 9)
    first.wait()
    assert forked.run(command(store, HOSTS)) == (0, output(store))
    assert data(store).identical(reference) and not list(store.rglob(".tmp*"))
    outcome("files of running processes are kept; leftovers of killed ones are removed")


def test_files_that_are_not_files(forked, reference, outcome):
    """A pipe or an endless device in place of the manifest, of data.sum, of a part or a chunk"""
    store = forked.folder / "pipes"
    shutil.copytree(forked.folder / "whole", store)
    part = next(store.glob("parts/[0-9a-f]*.part")).relative_to(store)
    whole_data = dataset_folder(store).relative_to(store)
    places = (whole_data / "data.sum", whole_data / "data.zarr/loss/c/0/0/0", part, "manifest.json")
    for place in places:
        for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
            (store / place).unlink()
            make(store / place)
            if place == part:
                lose_dataset(store)
            code, said = forked.run(command(store))
            if place == "manifest.json":
                one_line(code, said, "Not a regular file")
            else:
                assert (code, said) == (0, output(store)) and data(store).identical(reference)
    outcome("written again; for the manifest, a one-line error; no process blocks")


def test_exports_onto_a_full_disk(forked, reference, outcome):
    """A limit on the size of files, reached by `export` as csv, netcdf and parquet"""
    store = forked.folder / "exported"
    shutil.copytree(forked.folder / "whole", store)
    for to in ("csv", "netcdf", "parquet"):
        code = f"""
        import resource
        from jaxtheory.cli import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        raise SystemExit(main.main(["export", {str(store)!r}, "--format", {to!r}]))
        """
        one_line(*forked.run(textwrap.dedent(code)), "File too large", str(store))
        assert not list(store.rglob(".tmp*")) and not list(store.glob("data.[cnp]*"))
    outcome("one-line error, and no file")


def test_a_damaged_compilation_cache(forked, outcome):
    """Every entry of JAX's compilation cache truncated or bit-flipped"""
    rng, cache = random.Random(62), forked.folder / "damaged"
    use = SET.format(name="jax_compilation_cache_dir", value=str(cache))
    run = lambda name: forked.run(command(forked.folder / name, use, FEWER))
    code, said = run("as-it-was")
    entries = sorted(cache.glob("*-cache"))
    for entry in entries:
        while not _damaged(entry.read_bytes()):
            if rng.random() < 0.5:
                os.truncate(entry, rng.randrange(entry.stat().st_size))
            else:
                flip(entry, rng.randrange(entry.stat().st_size), rng.randrange(8))
    code, again = run("without")
    assert code == 0 and said.replace("as-it-was", "without") in again
    assert repair(cache) == len(entries) > 10
    assert run("mended") == (0, said.replace("as-it-was", "mended"))
    assert sorted(cache.glob("*-cache")) == entries
    for name in ("without", "mended"):
        assert data(forked.folder / name).identical(data(forked.folder / "as-it-was"))
    outcome("JAX warns and compiles again, until `jaxtheory doctor --repair` removes the entries")


def test_a_compilation_cache_that_cannot_be_written(forked, reference, outcome):
    """A compilation cache that cannot be written"""
    cache, store = forked.folder / "no-cache", forked.folder / "without-cache"
    cache.mkdir(mode=0o500)
    use = WITHOUT_PRIVILEGES + SET.format(name="jax_compilation_cache_dir", value=str(cache))
    code, said = forked.run(command(store, use))
    first, _, tail = said.partition("\n")
    assert code == 0 and tail == output(store) and data(store).identical(reference)
    assert f"compilation cache {cache}: it cannot be written to" in first
    outcome("a one-line warning; new programs are compiled each time")


# switches of JAX


def test_debug_nans(forked, reference, outcome):
    """`jax_debug_nans`, without and with a run that diverges"""
    store, on = forked.folder / "nans", SET.format(name="jax_debug_nans", value=True)
    assert forked.run(command(store, on)) == (0, output(store))
    assert data(store).identical(reference)
    diverging = WORDS.replace("eta=.1", "eta=1e30")
    one_line(*forked.run(command(forked.folder / "nan", on, diverging)), "jax_debug_nans is on")
    outcome("a run that diverges is a one-line error, as the switch asks")


def test_disable_jit(forked, outcome):
    """`jax_disable_jit`"""
    off = SET.format(name="jax_disable_jit", value=True)
    stores = {name: forked.folder / name for name in ("jit", "no-jit")}
    for before, store in zip(("", off), stores.values(), strict=True):
        assert forked.run(command(store, before, FEWER))[0] == 0
    assert data(stores["jit"]).identical(data(stores["no-jit"]))
    outcome("still compiled, since uncompiled code rounds differently")


def test_the_page_has_a_row_for_every_fault(request):
    if request.config.getoption("--reliability"):
        pytest.skip("the page is being written")
    lines = PAGE.read_text().partition(HEAD)[2].partition("\n\n")[0].splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == faults()
