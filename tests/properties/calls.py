"""A store whose every call is compared with a sweep in memory."""

import contextlib
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import xarray as xr

import jaxtheory
from jaxtheory import InputError
from jaxtheory.code.plain import as_json
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.results.versions import ACCEPTED
from jaxtheory.engine.store import archive, datasets
from jaxtheory.engine.store.store import Store
from jaxtheory.engine.store.view import partial_view
from jaxtheory.system import locks
from properties import growth
from properties.crew import Worker
from properties.growth import THEORIES, Ask, fresh, must_be_part, must_equal, options, sweep

OUTPUTS = ("steps", "record", "metrics", "save_params", "observe", "axes", "seeds")


class Asked:
    """A store, what it was asked for, and what is known of it; every call of it is checked."""

    def __init__(self, seed: int, folder: Path, counts: Counter, workers: list[Worker]):
        self.rng, self.folder, self.counts, self.workers = (
            random.Random(seed),
            folder,
            counts,
            workers,
        )
        self.path = folder / "0"
        self.ask = growth.first(self.rng)
        self.done: list[Ask] = []
        self.lazy: list[tuple[xr.Dataset, xr.Dataset]] = []
        self.newest: xr.Dataset | None = None
        self.mixed = False  # computed under several versions
        self.calm = True  # neither interrupted nor damaged, copied or shared
        self.damaged = False
        self.operations = 200

    def call(self, ask: Ask, nothing: bool = False) -> xr.Dataset | None:
        """The dataset of a request, which is right; None if the request is refused.

        nothing: the store has all of it.
        """
        if (want := fresh(ask)) is None:
            return None
        tell("sweep", ask)
        chunk_count = computed[0]
        with self.way(), self.guard_parts():
            data = self.sweep(ask)
        must_equal(data, want, self.is_whole(ask))
        assert self.mixed or ACCEPTED not in data.attrs
        assert not nothing or computed[0] == chunk_count, "a finished request was computed"
        assert not [*self.path.rglob(".tmp-*")], [*self.path.rglob(".tmp-*")]
        self.open(data)
        if self.rng.random() < 0.3:
            with mock.patch.object(archive, "_IN_MEMORY", 0):
                self.lazy.append((self.sweep(ask), want))
        self.counts["subsets" if computed[0] == chunk_count else "growths"] += 1
        self.ask = ask
        self.done.append(ask)
        return data

    def sweep(self, ask: Ask) -> xr.Dataset:
        """The dataset of a request with the store."""
        return sweep(ask, self.path, accept_versions=self.mixed)

    @contextlib.contextmanager
    def way(self, locks_fail: bool = False) -> Iterator[None]:
        """Within: some number of threads, lazy datasets or not, and locks that hold or not."""
        with contextlib.ExitStack() as stack:
            patch = lambda *words: stack.enter_context(mock.patch.object(*words))
            devices = str(self.rng.randint(1, 2))
            stack.enter_context(mock.patch.dict(os.environ, JAXTHEORY_DEVICES=devices))
            patch(archive, "_IN_MEMORY", self.rng.choice([0, 1 << 30]))
            if locks_fail:
                patch(locks, "_lock_byte", lambda *_: True)
                patch(locks, "flock", lambda *_, **__: None)
            yield

    @contextlib.contextmanager
    def guard_parts(self) -> Iterator[None]:
        """A block in which no part is written over, if none is damaged."""
        lost, replace = [], os.replace

        def watched(source: Any, target: Any) -> None:
            if Path(target).parent.name == "parts" and Path(target).exists():
                lost.append(target)
            replace(source, target)

        files = {f: f.stat().st_ino for f in self.path.glob("parts/[0-9a-f]*")}
        with mock.patch.object(os, "replace", watched):
            yield
        lost += [
            file
            for file, number in files.items()
            if not file.exists() or file.stat().st_ino != number
        ]
        assert self.damaged or not lost, f"{lost} were overwritten"

    def is_whole(self, ask: Ask) -> bool:
        """True if one rectangle is all of the store and of this request, under its own plan."""
        rectangles = Store(self.path).rectangles()
        if len(rectangles) != 1 or rectangles[0].content["before"]:
            return False
        theory, config = THEORIES[ask["theory"]]
        wanted = as_json(identity(read(theory, config, **options(ask))))
        return all(rectangles[0].content[name] == wanted[name] for name in OUTPUTS)

    def open(self, data: xr.Dataset) -> None:
        """The newest dataset is the one that was returned, or that of before if nothing was."""
        try:
            opened = jaxtheory.open_store(self.path)
        except InputError:
            assert self.newest is None
            return
        if opened.identical(data):
            self.newest = data
        elif self.newest is not None:
            assert opened.identical(self.newest), (opened, data, self.newest)

    def look(self) -> None:
        """Datasets of earlier calls, and those that are finished, keep their numbers."""
        for data, want in self.lazy:
            must_equal(data, want)
        self.lazy.clear()
        if (begun := datasets.begun(self.path)) is not None and not self.mixed:
            view = partial_view(self.path, begun)
            for ask in self.done[-1:]:
                if view.finished and begun["request"] == identified(ask):
                    must_be_part(view.data, fresh(ask))


def identified(ask: Ask) -> Any:
    theory, config = THEORIES[ask["theory"]]
    return as_json(identity(read(theory, config, **options(ask))))


computed = [0]  # chunks that this process has computed
said: list[str] = []  # what the present program did


def tell(*words: Any) -> None:
    said.append(" ".join(map(str, words)))


def counted(*args: Any, **named: Any) -> Any:
    computed[0] += 1
    return original(*args, **named)


original = chunk_task.run_chunk
