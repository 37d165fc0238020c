"""Shared parts of the ladders: from the model of a theorem to the Transformer that people train.

A ladder trains on one data law. Its first rung is the theory's own model with its own algorithm;
each later rung changes one thing more, so that the first rung on which a claim fails names what
breaks it. Thresholds come from runs on keys 100 and 101, widened (docs/decisions/0014). Networks
are small, of width 16, so that a ladder takes minutes; whether a larger one does the same is
another question.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import plot
from jaxtheory.claims import last

# the first rung after the theorem's: separate, randomly started query, key, value and output
# weights, nothing else; then what each rung adds to those before it
RUNGS: dict[str, dict[str, Any]] = {
    "separate weights, SGD": {"algorithm": "sgd"},
    "AdamW": {"algorithm": "adamw"},
    "+ residual": {"residual": True},
    "+ layer norm": {"norm": "pre-layernorm"},
    "+ MLP": {"mlp": "gelu"},
    "+ 4 heads": {"heads": 4},
    "+ depth 2": {"depth": 2},
    "+ learned positions": {"positions": "learned"},
}
THEOREM = "theorem's model"
ALL = [THEOREM, *RUNGS]
BARE: dict[str, Any] = {
    "depth": 1,
    "heads": 1,
    "width": 16,
    "mlp": "none",
    "norm": "none",
    "residual": False,
    "positions": "sinusoidal",
    "rate": 0.01,
}
SEEDS, STEPS = 8, 200
SEEN = ["loss", "accuracy"]  # of every task


class Trained(NamedTuple):
    """The trained networks of a rung.

    theory, config: their theory, and the config without the field that varies. data: the dataset of
    their sweep. shared: the axis, seeds, key and dtype, for a further sweep.
    """

    theory: jaxtheory.Theory
    config: Any
    data: xr.Dataset
    shared: dict[str, Any]


class Ladder(NamedTuple):
    """A data law as the rungs share it.

    name: the theory and the task. data: fields of the config that both have. axis: the field that
    varies, with its values. theorem: settings and steps of the theorem's rung. read: what the
    theorem's rung measured, under the names of the task's metrics. names: the metrics that are
    kept. sgd: the rate of the rung that trains by plain gradient descent. more: further arguments
    of the sweeps of networks, by their number of steps. also: further metrics of a rung's networks.
    """

    name: str
    data: dict[str, Any]
    axis: str
    theorem: dict[str, Any]
    read: Callable[[xr.Dataset], Mapping[str, xr.DataArray]]
    names: tuple[str, ...]
    sgd: float
    more: Callable[[int], dict[str, Any]] = lambda steps: {}
    also: Callable[[Trained], Mapping[str, xr.DataArray]] = lambda trained: {}


def theory_of(ladder: Ladder) -> jaxtheory.Theory:
    """The theory whose model is the first rung."""
    return jaxtheory.theories.get(ladder.name)


@functools.cache
def network(name: str) -> jaxtheory.Theory:
    """The theory of the Transformer on a task."""
    return jaxtheory.networks.transformer(jaxtheory.tasks.get(name))


def settings(rung: str) -> tuple[str, dict[str, Any]]:
    """The algorithm of a rung, and the settings of its network: those of all rungs up to it."""
    changes: dict[str, Any] = {}
    for name, change in RUNGS.items():
        changes |= change
        if name == rung:
            break
    return changes.pop("algorithm"), BARE | changes


def climbed(
    ladder: Ladder,
    folder: Path,
    key: int,
    progress: Any,
    **options: Any,
) -> xr.Dataset:
    """The metrics at the end of training, by rung, value of the axis and seed.

    The sweep of each rung is stored in the folder, and read from it if it is there.
    """
    begun, datasets = time.perf_counter(), []
    rungs = list(options["rungs"])
    for done, rung in enumerate(rungs, start=1):
        datasets.append(_rung(ladder, rung, folder, key, options))
        if progress is not None:
            spent = time.perf_counter() - begun
            progress("rung", done, len(rungs), spent / done * (len(rungs) - done))
    return xr.concat(datasets, "rung", join="override", combine_attrs="drop").assign_coords(
        rung=rungs
    )


def _rung(
    ladder: Ladder, rung: str, folder: Path, key: int, options: Mapping[str, Any]
) -> xr.Dataset:
    seeds = options["seeds"]
    shared: dict[str, Any] = {
        "vary": {ladder.axis: options[ladder.axis]},
        "seeds": seeds,
        "key": key,
        "dtype": "float32",
    }
    store = folder / f"{ALL.index(rung)}-{seeds}"
    if rung == THEOREM:
        theory = theory_of(ladder)
        config = theory.Config(**ladder.data, **ladder.theorem["settings"])
        steps = min(ladder.theorem["steps"], options["own_steps"])
        record = ladder.theorem.get("record", [steps])
        data = jaxtheory.sweep(theory, config, steps=steps, record=record, store=store, **shared)
        read = ladder.read(data)
    else:
        algorithm, changes = settings(rung)
        if algorithm == "sgd":
            changes["rate"] = ladder.sgd
        theory, steps = network(ladder.name), options["steps"]
        config = theory.Config(**ladder.data, **changes, horizon=steps)
        more = {"record": [steps], "algorithm": algorithm, **ladder.more(steps)}
        data = jaxtheory.sweep(theory, config, steps=steps, store=store, **more, **shared)
        names = [name for name in (*SEEN, *ladder.names) if name in data]
        read = {
            **{name: data[name] for name in names},
            **ladder.also(Trained(theory, config, data, shared)),
        }
    endpoints = {name: last(values).transpose(ladder.axis, "seed") for name, values in read.items()}
    missing = xr.full_like(next(iter(endpoints.values())), np.nan, dtype=float)
    return xr.Dataset(
        {
            name: endpoints.get(name, missing).astype(float).drop_attrs()
            for name in (*SEEN, *ladder.names)
        }
    )


def parts(
    ladder: Ladder,
    values: Sequence[float],
    quick_values: Sequence[float],
    rungs: Sequence[str] = ALL,
    seeds: int = SEEDS,
) -> dict[str, Any]:
    """The experiment of a ladder and its sweeps, as arguments of its Figure.

    values: those of its axis; quick_values: those of a quick run.
    """
    base = {
        "rungs": list(rungs),
        "seeds": seeds,
        "steps": STEPS,
        "own_steps": ladder.theorem["steps"],
    }
    quick = {"rungs": list(rungs[::2][:2]), "seeds": 2, "steps": 20, "own_steps": 20}
    return {
        "theory": None,
        "config": None,
        "experiment": functools.partial(climbed, ladder),
        "sweep": base | {ladder.axis: list(values)},
        "quick": quick | {ladder.axis: list(quick_values)},
    }


def rungs_from(first: str, until: str = "+ learned positions") -> list[str]:
    """The rungs from one to another, both included."""
    return ALL[ALL.index(first) : ALL.index(until) + 1]


def panels(data: xr.Dataset, ladder: Ladder, shown: Mapping[str, str], title: str) -> plot.Drawing:
    """A map for each metric: its mean over the seeds, by rung and value of the axis."""
    figure, axes = plot.panels(1, len(shown), title=title, width=7.0, height=2.4)
    for ax, (name, label) in zip(axes[:, 0], shown.items(), strict=True):
        values = plot.counted(data[name].mean("seed"), data[name])
        plot.heat(ax, values, "rung", ladder.axis, digits=2, vmin=0, vmax=1)
        plot.finish(ax, "", ladder.axis.replace("_", " "), label)
    return figure
