"""Random requests for one store, and what they must give: a sweep in memory, or its refusal.

A request is plain data, so that it can be sent to another process.
"""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from helpers import quadratic

import jaxtheory
from jaxtheory import InputError
from jaxtheory.engine.planning import padding
from jaxtheory.engine.results.versions import ACCEPTED
from jaxtheory.theories import low_rank, random_walk
from properties import little

ROUNDING = {"float64": 1e-10, "float32": 1e-4}  # as of engine/results/combine.py
SMALL = 1e-3
DRAWN = ("curvature", "drawn")  # metrics that are draws
THEORIES = {
    "little": (little.THEORY, little.Config()),
    "quadratic": (quadratic.THEORY, quadratic.Config()),
    "random_walk": (random_walk.THEORY, random_walk.Config(length=13)),
    "low_rank": (low_rank.THEORY, low_rank.Config()),
}
RATES = [0.1, 0.2, 0.05, 0.3, 1e200]
AXES: dict[str, dict[str, list]] = {
    "little": {
        "eta": RATES,
        "dimension": [3, 2, 4, 1],
        "cut": [1.0, 0.5, 2.0],
        "kind": ["other", "plain"],
        "algorithm": ["heavy", "gd"],
        "steps": [4, 2, 7],
    },
    "quadratic": {"eta": RATES, "cut": [1.0, 0.5, 2.0], "steps": [4, 2, 7]},
    "random_walk": {"K": [4, 5], "p": [0.5, 0.7, 0.3]},
    "low_rank": {"eta": [0.1, 0.2, 0.3]},
}
METRICS = {
    "little": ["distance", "inside", "weights", "drawn"],
    "quadratic": ["distance", "inside", "curvature"],
    "random_walk": ["loss", "value_spread"],
    "low_rank": ["loss"],
}
FUNCTIONS = {"double": little.double, "least": little.least, "low": little.low}
SEEDS, STEPS = [0, 1, 2, 3, 9, 77], [4, 6, 8]
Ask = dict[str, Any]

for _theory, _ in THEORIES.values():
    padding.believe(_theory)


def first(rng: random.Random) -> Ask:
    """The first request of a store."""
    (name,) = rng.choices(list(THEORIES), [70, 26, 2, 2])  # the last two are compiled for long
    pool = AXES[name]
    words = rng.sample(list(pool), min(len(pool), rng.choice([1, 1, 2, 2, 0])))
    ask = {
        "theory": name,
        "vary": {word: rng.sample(pool[word], rng.randint(1, 2)) for word in words},
        "seeds": rng.choice([2, 3, [0, 2], [9, 1]]),
        "steps": rng.choice(STEPS),
        "record": rng.choice([None, 2]),
        "save_params": rng.choice([False, False, True]),
        "observe": [],
        "stop": "low" if name == "little" and rng.random() < 0.15 else None,
        "dtype": rng.choice(["float64"] * 4 + ["float32"]),
        "buckets": rng.choice(["auto", "pad", "exact"]),
        "key": rng.choice([0, 5]),
    }
    if name == "low_rank":
        ask["algorithm"] = "adam"
    return ask


def mutate(rng: random.Random, ask: Ask) -> Ask:
    """A request that a store of another one can grow to, or has a part of."""
    ask = json.loads(json.dumps(ask))
    seeds = seeds_of(ask)
    for _ in range(rng.choice([1, 1, 2, 3])):
        what = rng.choice(["values", "values", "seeds", "steps", "steps", "outputs"])
        if what == "values" and ask["vary"]:
            word = rng.choice(list(ask["vary"]))
            ask["vary"][word] = changed(rng, ask["vary"][word], AXES[ask["theory"]][word])
        elif what in ("values", "seeds"):
            seeds = changed(rng, seeds, SEEDS)
            count = seeds == list(range(len(seeds))) and rng.random() < 0.5
            ask["seeds"] = len(seeds) if count else seeds
        elif what == "steps":
            ask["steps"] = rng.choice(STEPS) if rng.random() < 0.3 else min(ask["steps"] + 2, 12)
        else:
            ask |= outputs(rng, ask)
    return ask


def changed(rng: random.Random, values: list, pool: list) -> list:
    """More of the values of a pool, fewer, or others; in any order."""
    values, candidates = list(values), [value for value in pool if value not in values]
    more = candidates and (len(values) == 1 or rng.random() < 0.6) and len(values) < 4
    if more or (candidates and rng.random() < 0.3):
        values.append(rng.choice(candidates))
    if not more and len(values) > 1:
        values.remove(rng.choice(values))
    if rng.random() < 0.3:
        rng.shuffle(values)
    return values


def outputs(rng: random.Random, ask: Ask) -> Ask:
    """Other records, weights or observables."""
    metrics, end = METRICS[ask["theory"]], ask["steps"]
    simple = [None, 2, 3, [0, end], sorted(rng.sample(range(end + 1), 2))]
    observe = ask["observe"]
    if ask["theory"] == "little" and rng.random() < 0.5:
        observe = rng.choice([[], ["double"], ["double", "least"], ["least"]])
    record = rng.choice(simple)
    if rng.random() < 0.4 and not ask["stop"]:
        names = rng.sample(metrics, rng.randint(1, len(metrics)))
        record = {name: rng.choice(simple[:-1]) for name in [*names, *observe]}
    saved = rng.choice([False, True, 2, [end], [0, end]])
    return {"record": record, "save_params": saved, "observe": observe}


def part(rng: random.Random, ask: Ask) -> Ask:
    """Some of the values and seeds of a request, in any order."""
    some = lambda values: rng.sample(values, rng.randint(1, len(values)))
    vary = {word: some(values) for word, values in ask["vary"].items()}
    return {**ask, "vary": vary, "seeds": some(seeds_of(ask))}


def seeds_of(ask: Ask) -> list[int]:
    return list(range(ask["seeds"])) if isinstance(ask["seeds"], int) else ask["seeds"]


def options(ask: Ask) -> dict[str, Any]:
    """The arguments of `sweep` after the theory and its config."""
    arguments = {n: v for n, v in ask.items() if n not in ("theory", "vary", "observe", "stop")}
    arguments["vary"] = ask["vary"] or None
    arguments["stop"] = FUNCTIONS.get(ask["stop"])
    arguments["observe"] = {name: FUNCTIONS[name] for name in ask["observe"]} or None
    arguments["dims"] = {"double": ("i",)} if "double" in ask["observe"] else None
    return arguments


def sweep(ask: Ask, store: Path | None = None, **further: Any) -> xr.Dataset:
    theory, config = THEORIES[ask["theory"]]
    return jaxtheory.sweep(theory, config, **options(ask), store=store, **further)


_fresh: dict[str, xr.Dataset | None] = {}


def fresh(ask: Ask) -> xr.Dataset | None:
    """The sweep of a request in memory, None if it is refused. It is kept, unless code changes."""
    name = json.dumps([ask, little.FACTOR, little.FRICTION])
    if name not in _fresh:
        try:
            _fresh[name] = sweep(ask)
        except InputError:
            _fresh[name] = None
    return _fresh[name]


def must_equal(got: xr.Dataset, want: xr.Dataset, exact: bool = False) -> None:
    """Raise AssertionError unless two datasets are equal, or in floats up to rounding."""
    assert {*got.variables} == {*want.variables}, {*got.variables} ^ {*want.variables}
    assert dict(got.sizes) == dict(want.sizes), (got.sizes, want.sizes)
    attrs = {n: v for n, v in got.attrs.items() if n != ACCEPTED}
    assert attrs == want.attrs, (attrs, want.attrs)
    for name, wanted in want.variables.items():
        array = got.variables[name]
        assert (array.dims, array.dtype) == (wanted.dims, wanted.dtype), (name, array, wanted)
        assert array.attrs == wanted.attrs, (name, array.attrs, wanted.attrs)
        bits = exact or name in want.coords or name in DRAWN or wanted.dtype.kind != "f"
        same = equal(array.values, wanted.values, want.attrs["dtype"], bits)
        assert same.all(), (name, np.argwhere(~same)[:3], array.values, wanted.values)


def must_be_part(got: xr.Dataset, want: xr.Dataset) -> None:
    """Raise AssertionError unless the finished runs of a dataset are those of another.

    Either may be padded to larger runs: beyond the other's entries it has no value.
    """
    mask = got["diverged_at"].notnull()
    for name in got.data_vars:
        mine = got[name].where(mask).values
        wanted = want[name].where(mask).values
        common = tuple(map(slice, map(min, mine.shape, wanted.shape)))
        same = equal(mine[common], wanted[common], want.attrs["dtype"], False)
        assert same.all(), (name, mine, wanted)
        for array in (mine, wanted):
            assert np.sum(array == array) == np.sum(array[common] == array[common]), (name, array)


def equal(result: Any, wanted: Any, dtype: str, bits: bool) -> np.ndarray:
    """True where two arrays are equal, any NaN to any."""
    same = np.asarray((result == wanted) | ((result != result) & (wanted != wanted)))
    if not bits:
        with np.errstate(invalid="ignore"):
            bound = ROUNDING[dtype] * np.maximum(abs(wanted), SMALL)
            same = same | (abs(result - wanted) <= bound)
    return same
