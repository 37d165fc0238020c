"""Plain records of a sweep: how its runs are laid out, and what they leave behind.

They import neither programs nor the training loop, so that what reads a store need not either.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.core.config import Config, describe_changes, fields
from jaxtheory.core.theory import C, Generic, W
from jaxtheory.texts.faces import as_html, as_text, describe_arrays

NEVER = -1  # diverged_at of a run that stayed finite
TURNS = 8  # records that are made at most before the host looks


class Layout(NamedTuple):
    """Shape of a compiled program.

    slots: slots in sequence. rows: rows per slot. runs: runs per row. values: evaluation values per
    run. width: number of runs that are vmapped at once; lax.map goes over batches of them. common:
    True if all runs of a row share their evaluation values.
    """

    slots: int = 1
    rows: int = 1
    runs: int = 1
    values: int = 1
    width: int = 1
    common: bool = True


class Members(NamedTuple):
    """The points of a bucket, sorted by problem, run and value, with the offsets of each level.

    Problem c has the runs run_of[c] : run_of[c + 1], run r has the values value_of[r] :
    value_of[r + 1], and value v has the points points[point_of[v] : point_of[v + 1]]. Each problem
    has one or several rows per seed.
    """

    points: np.ndarray
    run_of: np.ndarray
    value_of: np.ndarray
    point_of: np.ndarray

    def first_of_run(self, run: np.ndarray) -> np.ndarray:
        """Return one point of each run."""
        return self.points[self.point_of[self.value_of[run]]]


class Bucket(NamedTuple):
    """Points that are trained by one compiled program.

    shared, run_fields, values: names of the config fields of problems, of runs and of values.
    steps: number of steps of each run. seeds: number of seeds. Its layout determines seconds,
    memory (bytes), problem (bytes of one problem), and row_of: for each problem the index of its
    first row of one seed, and the total.
    """

    number: int
    algorithm: str
    template: Config
    shared: tuple[str, ...]
    run_fields: tuple[str, ...]
    values: tuple[str, ...]
    members: Members
    steps: np.ndarray
    seeds: int
    layout: Layout
    seconds: float
    memory: int
    problem: int
    row_of: np.ndarray
    result_bytes: int = 0  # bytes of its results

    def laid(self, layout: Layout) -> "Bucket":
        """Return the bucket with a layout, which splits the runs of each problem into rows."""
        pieces = -(-np.diff(self.members.run_of) // layout.runs)
        return self._replace(layout=layout, row_of=np.append(0, np.cumsum(pieces)))

    @property
    def longest(self) -> int:
        """The number of steps of the longest run, which is the first."""
        return int(self.steps[0])

    @property
    def sizes(self) -> dict[str, int]:
        """The capacity of each size field."""
        return {
            n: getattr(self.template, n).cap
            for n, f in fields(type(self.template)).items()
            if f.kind == "size"
        }

    @property
    def static(self) -> dict[str, Any]:
        """The value of each static field."""
        return {
            n: getattr(self.template, n)
            for n, f in fields(type(self.template)).items()
            if f.kind == "static"
        }

    @property
    def problems(self) -> int:
        return self.seeds * (len(self.members.run_of) - 1)

    @property
    def runs(self) -> int:
        return self.seeds * (len(self.members.value_of) - 1)

    @property
    def rows(self) -> int:
        return self.seeds * int(self.row_of[-1])

    @property
    def slots(self) -> int:
        return math.ceil(self.rows / self.layout.rows)


class Chunk(NamedTuple):
    """Slots first..last-1 of a bucket, the unit that is computed and stored at a time."""

    bucket: Bucket
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.bucket.number:04d}-{self.first:08d}-{self.last:08d}"


class Lanes(NamedTuple):
    """The inputs of a chunk, as NumPy arrays with the leading axes [slot, row], [run] and [value].

    used: number of slots in use. seed: seed of each row. place: index of each row's seed in
    `request.seeds`. shared, run_fields, values: config fields of rows [slot, row], of runs [slot,
    row, run], and evaluation fields [slot, row, run, value]. limit: number of steps of each run, 0
    for lanes that only fill the arrays. problem: index of each row's problem among the distinct
    problems of the chunk, whose seeds and fields are `distinct`. out: a mapping from lanes to
    results, as (slot, row, run, value) indices, point indices and seed indices.
    """

    used: int
    seed: np.ndarray
    place: np.ndarray
    shared: dict[str, np.ndarray]
    run_fields: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    limit: np.ndarray
    problem: np.ndarray
    distinct: tuple[np.ndarray, dict[str, np.ndarray]]
    out: tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]

    @property
    def has_distinct_problems(self) -> bool:
        """True if the rows have distinct problems, in order.

        Rows that only fill the last slot may repeat the last problem.
        """
        rows, count = self.problem[: self.used].ravel(), len(self.distinct[0])
        return np.array_equal(rows, np.minimum(np.arange(rows.size), count - 1))


class Run(NamedTuple, Generic[W, C]):
    """One trained run, as returned by `simulate`. All arrays are NumPy arrays.

    Args:
        config: The config of the run.
        steps: The R recorded steps, increasing integers; step 0 is before training.
        metrics: Each metric by its name, an array [R, ...] with the entries of `theory.baselines`
            appended to its last axis. It is NaN at steps where it was not recorded, and after the
            run stopped or diverged.
        analyses: Each analysis of the final parameters by its name, NaN if the run diverged.
        params: The final parameters of the theory, `algorithm.params(state, problem, config)`.
        state: The final state of the algorithm.
        problem: The problem that the run was trained on.
        diverged_at: The first step after which the state was not finite, or None. `state` and
            `params` are then the last finite ones.
        stopped_at: The recorded step at which the rule `stop` held, or None.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> key = jaxtheory.run_key(0, 0)
        >>> run = jaxtheory.simulate(random_walk, random_walk.Config(), key, steps=4, record=2)
        >>> run.steps.tolist(), run.metrics["loss"].shape, run.diverged_at
        ([0, 2, 4], (3,), None)
    """

    config: C
    steps: np.ndarray
    metrics: dict[str, np.ndarray]
    analyses: dict[str, np.ndarray]
    params: W
    state: Any
    problem: Any
    diverged_at: int | None
    stopped_at: int | None = None

    def _face(self) -> tuple[str, dict[str, str]]:
        return f"Run of {self.steps[-1]} steps", {
            "config": describe_changes(self.config) or "the default",
            **{
                name: f"{values[0]:.4g} → {values[-1]:.4g}, {len(values)} records"
                for name, values in self.metrics.items()
                if name == "loss" and values.ndim == 1
            },
            "metrics": ", ".join(self.metrics),
            "analyses": ", ".join(self.analyses),
            "params": describe_arrays(self.params),
            "diverged": "" if self.diverged_at is None else f"after step {self.diverged_at}",
            "stopped": "" if self.stopped_at is None else f"at step {self.stopped_at}",
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


class Outcome(NamedTuple):
    """The results of a chunk, as arrays with the leading axes [slot, row, run, value].

    Metrics and predictions have the axis record after these.
    """

    metrics: dict[str, np.ndarray]
    analyses: dict[str, np.ndarray]
    predictions: dict[str, np.ndarray]
    diverged_at: np.ndarray
    stopped_at: np.ndarray
    state: Any
    problem: Any


class Resumed(NamedTuple):
    """Runs of a chunk that were trained before, with the leading axes [slot, row, run].

    step: the number of steps that were made. state: the states after them, or their leaves.
    diverged_at, stopped_at: the steps at which runs diverged or stopped, or NEVER.
    """

    step: int
    state: Any
    diverged_at: np.ndarray
    stopped_at: np.ndarray


class Part(NamedTuple):
    """Results of a sweep, one entry per point and seed.

    point: index of the point of each entry. place: index of its seed in `request.seeds`. values:
    arrays by name, namely "diverged_at" [entry], with a stop rule "stopped_at" [entry],
    "metric/NAME" and "predicted/NAME" [entry, record, ...], and "analysis/NAME" [entry, ...].
    """

    point: np.ndarray
    place: np.ndarray
    values: dict[str, np.ndarray]

    def at(self, entries: np.ndarray) -> "Part":
        """Return the part with the entries that a mask or an index chooses."""
        if entries.dtype == bool and entries.all():
            return self
        values = {name: array[entries] for name, array in self.values.items()}
        return Part(self.point[entries], self.place[entries], values)
