"""The benchmarks' sweeps on one device, to be compared with those on another: how long they take,
and their curves.

python tests/benchmarks/lanes.py FILE NAME ...: of these theories on JAX's default device, pickled.
"""

import importlib
import os
import pickle
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.study import Study
from properties import compare

STEPS = 50  # of the sweep whose curves are compared, with records as they come
WIDER = 16  # times as many seeds
ROUNDS, ENOUGH = 3, 5.0  # timed calls; none is begun after so many seconds
TABLE = compare.PRECISION["float32"]

Curves = dict[str, np.ndarray]


class Lanes(NamedTuple):
    """Seconds of the sweep recorded at its ends, with its runs and with WIDER times as many; the
    curves of a shorter one; those of twins whose real fields are off by about TABLE.nudge.
    """

    seconds: float
    wide: float
    curves: Curves
    twins: list[Curves]


def measured(study: Study, twins: bool = False) -> Lanes:
    """All of it, on JAX's default device."""
    seconds = took(study)
    wide = took(study._replace(seeds=WIDER * study.seeds))
    short = study._replace(steps=min(STEPS, study.steps))
    nudges = (TABLE.nudge, -TABLE.nudge, 3 * TABLE.nudge) if twins else ()
    return Lanes(seconds, wide, curves(short), [curves(nudged(short, by)) for by in nudges])


def took(study: Study) -> float:
    """Median seconds of a sweep after a first one, which compiles."""
    study.ends()
    durations: list[float] = []
    while len(durations) < ROUNDS and sum(durations) < ENOUGH:
        begun = time.perf_counter()
        study.ends()
        durations.append(time.perf_counter() - begun)
    return statistics.median(durations)


def nudged(study: Study, by: float) -> Study:
    """The study with its real fields off by a relative `by`."""
    values = tuple(value * (1 + by) for value in study.values)
    return study._replace(config=compare.off_by(study.config, by), values=values)


def curves(study: Study) -> Curves:
    """The numbers that a sweep records, the axes of its runs first."""
    data, runs = study.sweep(), (study.field, "seed")
    return {
        str(name): variable.expand_dims([d for d in runs if d not in variable.dims])
        .transpose(*runs, ...)
        .to_numpy()
        for name, variable in data.data_vars.items()
        if variable.dtype.kind in "fiub"
    }


class Compared(NamedTuple):
    """The number of variables; of those within TABLE.tolerance in every run, and the largest
    |a - b| / max(|b|, TABLE.least) among these; of those in which runs differ by more, as twins
    explain;
    the others, with what the worst run differs by and its twin.
    """

    variables: int
    close: int
    largest: float
    explained: int
    mismatches: dict[str, tuple[float, float]]


def compared(got: Curves, want: Lanes) -> Compared:
    """Curves of one device with those of another, by the table of float32."""
    assert set(got) == set(want.curves), set(got) ^ set(want.curves)
    close, explained, mismatches = [0.0], 0, {}
    for name, value in want.curves.items():
        gap, *moved = (
            compare.worst(source[name], value, 2, TABLE.least) for source in (got, *want.twins)
        )
        twin = np.max([np.zeros_like(gap), *moved], axis=0)
        wrong = ~compare.accepted(gap, twin, "float32")
        if wrong.any():
            run = np.argmax(np.where(wrong, gap, -1))
            mismatches[name] = float(gap.flat[run]), float(twin.flat[run])
        elif gap.max() > TABLE.tolerance:
            explained += 1
        else:
            close.append(float(gap.max()))
    return Compared(len(got), len(close) - 1, max(close), explained, mismatches)


def main(file: str, *names: str) -> None:
    """On half of the cores. The file is written anew after each theory, so that it may be read at
    any time.
    """
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[len(cores) // 2 :])
    outcomes: dict[str, Any] = {}
    for name in names:
        study = importlib.import_module(f"benchmarks.{name}").STUDY
        try:
            outcomes[name] = measured(study, twins=True)
        except Exception as error:
            outcomes[name] = f"{type(error).__name__}: {error}"
        part = Path(file + ".part")
        part.write_bytes(pickle.dumps(outcomes))
        part.replace(file)
        print(f"  CPU: {name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    from benchmarks import lanes  # the name under which what is pickled is found

    lanes.main(*sys.argv[1:])
