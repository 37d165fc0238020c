"""Random programs that attack a store: growth, interruptions, races, damage, copies, edits.

After each step what a call returned is compared with a sweep in memory. `make fuzz` runs them.
"""

import argparse
import contextlib
import faulthandler
import json
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import InputError
from jaxtheory.engine import cover, fill
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.rerun import rerun
from jaxtheory.engine.results import versions
from jaxtheory.engine.store.store import Store
from properties import growth, little, plants
from properties.calls import Asked, computed, counted, said, tell
from properties.crew import Fault, Worker
from properties.growth import THEORIES, Ask, fresh, must_be_part, must_equal, sweep
from properties.memory import forget_when_large

STEPS = 12  # of a program
PATIENCE = 0.3  # seconds: chunks that others hold are computed by several
WORKERS = 3
HANGS = 240  # seconds of a step
KINDS = ["interrupt", "interrupt", "ENOSPC", "EIO"]


class Program(Asked):
    """Random steps on a store."""

    def run(self) -> None:
        """All steps."""
        self.call(self.ask)
        some: dict[Callable[[], None], int] = {
            self.grow: 8,
            self.again: 3,
            self.interrupt: 4,
            self.kill: 2,
            self.race: 7,
            self.damage: 3,
            self.lose: 1,
            self.merge: 2,
            self.edit: 1,
            self.stranger: 1,
            self.upgrade: 1,
        }
        for _ in range(STEPS):
            (step,) = self.rng.choices(list(some), list(some.values()))
            step = step if self.done else self.grow  # the first requests may all be refused
            tell(step.__name__)
            faulthandler.dump_traceback_later(HANGS, exit=True)
            step()
            faulthandler.cancel_dump_traceback_later()
        self.look()

    def grow(self) -> None:
        """Further values, seeds, steps or outputs; then a part of that, and a run once more."""
        data = self.call(growth.mutate(self.rng, self.ask))
        if data is None:
            return
        ask = self.ask
        if self.rng.random() < 0.6:
            self.part(data)
            self.ask = ask
        if self.rng.random() < 0.4:
            self.rerun(ask)

    def part(self, data: xr.Dataset) -> None:
        """A part of what is there is computed by nobody, and has its bits."""
        less = growth.part(self.rng, self.ask)
        if "steps" in less["vary"]:
            less["vary"]["steps"] = self.ask["vary"]["steps"]
        if (got := self.call(less, nothing=True)) is None or not self.calm:
            return
        dims = [str(dim) for dim in got["diverged_at"].dims]
        same = data.sel({dim: got[dim].values for dim in dims})
        for name in got.data_vars:
            cut = same[name].values[tuple(map(slice, got[name].shape))]
            assert np.array_equal(cut, got[name].values, equal_nan=True), (name, "has other bits")

    def rerun(self, ask: Ask) -> None:
        """A run of the newest dataset once more has the same bits."""
        if ask["stop"] or self.mixed or self.newest is None:
            return
        data = jaxtheory.open_store(self.path)
        dims = [str(dim) for dim in data["diverged_at"].dims]
        where = {dim: self.rng.choice(data[dim].values.tolist()) for dim in dims}
        tell("rerun", where)
        try:
            comparison = rerun(self.path, THEORIES[ask["theory"]][0], **where)
        except InputError as error:
            assert "observe=" in str(error), error
            return
        for name in comparison.differs:  # by rounding, if the beginning was in another program
            mine, stored = comparison.values[name], data[name].sel(where).values
            common = tuple(map(slice, map(min, mine.shape, stored.shape)))
            same = growth.equal(mine[common], stored[common], ask["dtype"], False)
            assert went_on(self.path) and same.all(), (name, where, mine, stored)
        self.counts["reruns"] += 1

    def again(self) -> None:
        """A request of before once more."""
        self.call(self.rng.choice(self.done), nothing=self.calm)

    def interrupt(self) -> None:
        """An exception from some file operation; then the same call again."""
        ask = growth.mutate(self.rng, self.ask)
        if (want := fresh(ask)) is None:
            return
        self.calm = False
        kind, late = self.rng.choice(KINDS), self.rng.random() < 0.3
        fault = Fault(self.path, self.rng.randint(1, self.operations), kind, late)
        tell("interrupted", ask, kind, fault.at, late)
        try:
            with self.way(), fault.active():
                data = self.sweep(ask).load()
            must_equal(data, want)
        except KeyboardInterrupt:
            pass
        except InputError as error:
            assert kind != "interrupt", error
        tell("at", fault.where or fault.seen)
        self.counts["interruptions" if fault.where else "growths"] += 1
        self.operations = max(20, fault.seen if not fault.where else self.operations)
        self.newest = None
        self.checked(ask)

    def checked(self, ask: Ask) -> None:
        """An earlier request is still right, and so is this one."""
        if self.rng.random() < 0.5:
            self.look()
            self.call(self.rng.choice(self.done))
        self.call(ask)

    def kill(self) -> None:
        """Another process is killed at some moment; then the same call again."""
        ask, worker = growth.mutate(self.rng, self.ask), self.rng.choice(self.workers)
        if fresh(ask) is None:
            return
        self.calm, self.newest = False, None
        tell("killed", ask)
        worker.begin(ask, self.path, accept_versions=self.mixed, patience=(PATIENCE, PATIENCE))
        time.sleep(self.rng.uniform(0, 1.2))
        worker.kill()
        self.counts["interruptions"] += 1
        self.checked(ask)

    def race(self) -> None:
        """Several calls at a time, of one or several requests, in threads or in processes."""
        first = growth.mutate(self.rng, self.ask)
        same, use_processes = self.rng.random() < 0.3, self.rng.random() < 0.4
        asks = [
            first if same else growth.mutate(self.rng, first) for _ in range(self.rng.randint(2, 6))
        ]
        asks = [ask for ask in asks if fresh(ask) is not None][: WORKERS if use_processes else 6]
        waits = [self.rng.random() < 0.7 for _ in asks]
        self.calm, self.newest = False, None
        for ask, wait in zip(asks, waits, strict=True):
            tell("apart" if use_processes else "beside", ask, "" if wait else "without waiting")
        further = {"accept_versions": self.mixed}
        outcomes: list[Any] = [None] * len(asks)
        if use_processes:
            for worker, ask, wait in zip(self.workers, asks, waits, strict=False):
                worker.begin(ask, self.path, **further, wait=wait, patience=(PATIENCE, PATIENCE))
            outcomes = [worker.end() for worker, _ in zip(self.workers, asks, strict=False)]
        else:

            def go(i: int) -> None:
                try:
                    outcomes[i] = sweep(asks[i], self.path, **further, wait=waits[i]).load()
                except BaseException as error:
                    outcomes[i] = error

            with self.way(locks_fail=self.rng.random() < 0.3), self.guard_parts():
                threads = [threading.Thread(target=go, args=(i,)) for i in range(len(asks))]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        for ask, wait, data in zip(asks, waits, outcomes, strict=True):
            if isinstance(data, BaseException):
                raise data
            is_complete = bool(data["diverged_at"].notnull().all())
            assert is_complete or not wait
            (must_equal if wait else must_be_part)(data, fresh(ask))
        self.counts["races"] += len(asks) > 1
        for ask in asks[:2]:
            self.call(ask)

    def damage(self) -> None:
        """Files are truncated, deleted or have a bit flipped; the next call is right."""
        self.calm, self.damaged, self.newest = False, True, None
        self.look()
        files = [file for file in sorted(self.path.rglob("*")) if file.is_file()]
        kinds = self.rng.choice(["*", "*.part", "*.part", "*.state", "*.json", "manifest.json"])
        files = [file for file in files if file.match(kinds)]
        for file in self.rng.sample(files, min(len(files), self.rng.randint(1, 3))):
            text = file.read_bytes()
            tell("damage", file.relative_to(self.path), harm(file, self.rng))
            if file.name == "manifest.json":
                with contextlib.suppress(InputError):
                    must_equal(
                        sweep(self.ask, self.path, accept_versions=self.mixed), fresh(self.ask)
                    )
                file.write_bytes(text)
        if self.rng.random() < 0.6:  # else nobody reads the parts of finished datasets
            for folder in (self.path / "data").glob("*/"):
                shutil.rmtree(folder)
        self.counts["damages"] += 1
        self.call(self.rng.choice([self.rng.choice(self.done), growth.mutate(self.rng, self.ask)]))

    def lose(self) -> None:
        """Without its dataset a request has the same numbers, which nobody computes."""
        data = self.call(self.ask)
        if data is None:
            return
        data.load()
        self.look()
        for folder in (self.path / "data").glob("*/"):
            shutil.rmtree(folder)
        self.newest = None
        again = self.call(self.ask, nothing=True)
        assert again is not None and (not self.calm or again.load().identical(data))

    def merge(self) -> None:
        """Another store is copied into this one or merged with it, or this one is copied."""
        second_store = self.folder / f"{len([*self.folder.iterdir()])}"
        more = {**growth.mutate(self.rng, self.ask)}
        if self.rng.random() < 0.7:
            more = {**self.ask, "vary": more["vary"], "seeds": more["seeds"]}
        how = self.rng.choice(["copy", "parts", "store", "merge", "merge"])
        if fresh(more) is None or self.call(self.ask) is None:
            return
        tell(how, more)
        self.calm, self.newest = False, None
        self.look()
        if how == "copy":
            shutil.copytree(self.path, second_store)
            self.path = second_store
            self.counts["copies"] += 1
            self.call(more)
            return
        must_equal(sweep(more, second_store), fresh(more))
        if how == "parts":
            shutil.copytree(second_store / "parts", self.path / "parts", dirs_exist_ok=True)
        elif how == "store":
            try:
                shutil.copytree(second_store, self.path, dirs_exist_ok=True)
            except shutil.Error as error:  # a shown dataset of other dimensions has other folders
                assert all("data.zarr" in target for _, target, _ in error.args[0]), error
        else:
            target = second_store.with_name(f"{second_store.name}m")
            try:
                data = jaxtheory.merge([self.path, second_store], to=target, accept_versions=True)
            except InputError as error:
                tell("not merged", error)
                return
            names = [str(dim) for dim in data["diverged_at"].dims]
            vary = {
                word: data[name].values.tolist()
                for word, name in zip(self.ask["vary"], names, strict=False)
            }
            union = {
                **more,
                "steps": int(data.attrs.get("steps", more["steps"])),
                "vary": vary,
                "seeds": data["seed"].values.tolist(),
            }
            if (want := fresh(union)) is not None:
                must_equal(data, want)
                self.path = target
                more = union
        self.counts["merges"] += 1
        chunk_count = computed[0]
        self.call(more)
        assert how == "parts" or computed[0] == chunk_count, "what was merged is computed again"
        self.call(growth.mutate(self.rng, self.rng.choice(self.done)))

    def edit(self) -> None:
        """A constant of the code is another: the store refuses, or gives the new numbers."""
        ask = growth.mutate(self.rng, self.ask)
        name = self.rng.choice(["FACTOR", "FRICTION"])
        with mock.patch.object(little, name, 0.75), contextlib.suppress(InputError):
            if (want := fresh(ask)) is not None:
                must_equal(self.sweep(ask), want)
        self.counts["edits"] += 1
        self.newest = None
        self.call(ask)

    def stranger(self) -> None:
        """Runs of another kind are refused."""
        changes = {"key": 8, "buckets": "never", "dtype": "float16", "vary": {}}
        name = self.rng.choice([name for name in changes if changes[name] != self.ask.get(name)])
        swap = {"float64": "float32", "float32": "float64", "pad": "exact", "exact": "pad"}
        value = (
            swap.get(self.ask[name], changes[name])
            if name in ("dtype", "buckets")
            else changes[name]
        )
        ask = {**self.ask, name: "pad" if value == "never" else value}
        if fresh(ask) is None:
            return
        try:
            sweep(ask, self.path)
        except InputError as error:
            assert "holds other runs" in str(error), error
        else:
            raise AssertionError(f"the store takes runs of another {name}")
        self.counts["strangers"] += 1

    def upgrade(self) -> None:
        """Under other versions the store is refused, or its numbers are right."""
        ask = growth.mutate(self.rng, self.ask)
        if (want := fresh(ask)) is None:
            return
        new_versions = {**versions.present(), "jax": "9.9.9"}
        self.calm, self.newest = False, None
        with contextlib.ExitStack() as stack:
            for module in (cover, chunk_task, versions):
                stack.enter_context(mock.patch.object(module, "present", lambda: new_versions))
            with contextlib.suppress(InputError):
                must_equal(self.sweep(ask), want)
            must_equal(sweep(ask, self.path, accept_versions=True), want)
        self.mixed = True
        self.counts["upgrades"] += 1
        self.call(growth.mutate(self.rng, ask))


def went_on(path: Path) -> bool:
    """True if a rectangle of the store continues another one that has other runs too."""
    rectangles = {one.name: one for one in Store(path).rectangles()}
    return any(
        one.shape != rectangles[one.content["before"]].shape
        for one in rectangles.values()
        if one.content["before"]
    )


def harm(file: Path, rng: random.Random) -> str:
    """Truncate a file, flip one of its bits or delete it. The file of before is not changed, which
    may have further names.
    """
    data = bytearray(file.read_bytes())
    kind = rng.choice(["truncated", "flipped", "deleted"])
    file.unlink()
    if kind == "deleted" or not data:
        return kind
    if kind == "flipped":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
        del data[rng.randrange(len(data)) :]
    file.write_bytes(data)
    return kind


def attack(seed: int, counts: Counter, workers: list[Worker]) -> bool:
    """Run the program of a seed; False, and what it did, if it finds something."""
    said.clear()
    with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
        try:
            Program(seed, Path(folder), counts, workers).run()
            return True
        except BaseException:
            print("\n".join(said), flush=True)
            traceback.print_exc()
            return False
        finally:
            counts["programs"] += 1
            forget_when_large()


def main() -> int:
    """The exit code: 1 after a finding."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--programs", type=int, default=1, help="how many")
    parser.add_argument("--minutes", type=float, help="for how long, instead of how many")
    parser.add_argument("--counts", type=Path, help="a file to which counts are added")
    parser.add_argument("--plant", choices=plants.PLANTS, help="a fault of the store to find")
    own = parser.parse_args()
    warnings.simplefilter("ignore")
    fill._PATIENCE, chunk_task.run_chunk = (PATIENCE, PATIENCE), counted
    counts: Counter = Counter()
    workers = [Worker() for _ in range(WORKERS)]
    begun, seed, right = time.monotonic(), own.seed, True
    try:
        with plants.planted(own.plant):
            while right and (
                time.monotonic() - begun < 60 * own.minutes
                if own.minutes
                else seed < own.seed + own.programs
            ):
                right = attack(seed, counts, workers)
                if not right:
                    print(f'repeat with: make fuzz ARGS="--store-seed {seed}"', flush=True)
                seed += 1
    finally:
        for worker in workers:
            worker.kill(again=False)
    print(f"stores: {', '.join(f'{n} {name}' for name, n in sorted(counts.items()))}", flush=True)
    if own.counts:
        before = Counter(json.loads(own.counts.read_text())) if own.counts.exists() else Counter()
        own.counts.write_text(json.dumps(before + counts))
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
