"""A search for boundaries against the bare steps of the runs that it trains, and against a sweep
over a grid of the same resolution.
"""

import math

import numpy as np
from benchmarks.cases import described
from benchmarks.study import ByHand, Study
from benchmarks.table import Group, Line
from benchmarks.timing import Side

import jaxtheory

THEORY = jaxtheory.theories.get("group_sparse")
LOW, HIGH, TOLERANCE = 0.05, 5.0, 0.01
VALUES = tuple(np.geomspace(LOW, HIGH, 8).tolist())  # candidates of a round
STUDY = Study(THEORY, THEORY.Config(num_groups=8, num_samples=500), "learning_rate", VALUES, 8, 200)


def search(study):
    """The boundary of selection of every seed; no run of another seed would save a round."""
    return jaxtheory.boundary(
        study.theory,
        study.config,
        along=study.field,
        between=(study.values[0], study.values[-1]),
        when=jaxtheory.below("relevant_attention", 0.5),
        several="first",
        seeds=study.seeds,
        steps=study.steps,
        tolerance=TOLERANCE,
    )


def rounds(study):
    """The number of rounds: the first leaves a bracket of 1/7 of the interval, each other one of
    1/9 of it, in logarithms.
    """
    span, wanted = math.log(study.values[-1] / study.values[0]), math.log1p(TOLERANCE)
    count = len(study.values)
    return 1 + math.ceil(math.log(span / (count - 1) / wanted) / math.log(count + 1))


def grid(study):
    """The values of a grid of this resolution."""
    span = math.log(study.values[-1] / study.values[0])
    return np.geomspace(
        study.values[0], study.values[-1], 1 + math.ceil(span / math.log1p(TOLERANCE))
    )


def groups():
    yield group(STUDY)


def group(study):
    times, values = rounds(study), grid(study)
    bare = ByHand(study).training()
    swept = study._replace(values=tuple(values.tolist()))
    some = study._replace(values=tuple(values[: len(study.values)].tolist()))
    sides = {
        "boundary": Side(lambda: search(study)),
        "bare": Side(lambda: [bare() for _ in range(times)]),
        "grid": Side(swept.ends, some.ends, len(values) / len(study.values)),
    }
    lines = [
        Line("boundary over the bare steps of its runs", "boundary", "bare", "cost", 1.3),
        Line("boundary over a grid of its resolution", "boundary", "grid", "cost", 0.1),
    ]
    trained = f"{times * len(study.values)} values a seed, a grid has {len(values)}"
    return Group(study.theory.name, f"{described(study, 'D = 8')}; {trained}", sides, lines, {})
