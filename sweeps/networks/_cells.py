"""Networks that have learned: from the theorem's model to the standard Transformer, by factors.

Three factors of two levels each, optimizer, block and size, make eight networks; the theorem's own
model stands beside them. Samples are drawn anew in each step. The learning rate of each network is
the best of five on other seeds. A network has learned its task where it closes nine tenths of the
gap from the best answer that ignores the prompt to the best one that there is.

What a network uses is told by cutting edges of its attention, in all heads of all layers: at a cut
edge the mean value over the sequences is read. `used` is the rise of the loss where the edges to
the tokens of the theorem are cut, over the gap to the best answer without them; `others` is that
where all other edges are cut.
"""

import functools
import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

import jaxtheory
from jaxtheory import Claim, networks, plot
from jaxtheory.claims import Measure, at_least, at_most, derived, last

THEOREM = "theorem's model"
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"algorithm": "sgd"},
    "AdamW": {"algorithm": "adamw", "warmup": 50},
}
BLOCKS: dict[str, dict[str, Any]] = {
    "attention": {"residual": False, "norm": "none", "mlp": "none"},
    "block": {"residual": True, "norm": "pre-layernorm", "mlp": "gelu"},
}
RATES = {"sgd": [0.03, 0.1, 0.3, 1.0, 3.0], "adamw": [3e-4, 1e-3, 3e-3, 1e-2, 3e-2]}
TUNING: dict[str, Any] = {"key": 100, "seeds": 2}  # the runs that choose the rate
LEARNED = 0.9  # the share of the gap from which on a network has learned
MEASURES = ("closed", "used", "others")


class Trained(NamedTuple):
    """The networks of a cell.

    theory, config: their theory and its config. data: the dataset of their sweep, with the
    parameters at its start and end.
    """

    theory: jaxtheory.Theory
    config: Any
    data: xr.Dataset


class Ladder(NamedTuple):
    """A data law as the networks of all cells share it.

    theory, task, network: those of the data law, and `network` of the task. data: fields of the
    config; long: those that differ with `--large`. theorem: settings, steps and algorithm of the
    theorem's own model. read: what the theorem's model has of the metrics. metrics: the metrics of
    the task that are kept. depth: the layers of the small network. also: further measures of the
    trained networks of a cell, which need their parameters.
    """

    theory: jaxtheory.Theory
    task: jaxtheory.Task
    network: jaxtheory.Theory
    data: dict[str, Any]
    long: dict[str, Any]
    theorem: dict[str, Any]
    read: Callable[[xr.Dataset], Mapping[str, xr.DataArray]]
    metrics: tuple[str, ...]
    depth: int = 1
    also: Callable[[Trained], Mapping[str, xr.DataArray]] | None = None


def cells(*sizes: tuple[int, int]) -> dict[str, dict[str, Any]]:
    """The settings of networks: all combinations of optimizer, block and size, layers × heads."""
    named = {f"{n} × {heads}": {"depth": n, "heads": heads} for n, heads in sizes}
    factors = [list(levels.items()) for levels in (OPTIMIZERS, BLOCKS, named)]
    return {
        ", ".join(name for name, _ in levels): {k: v for _, some in levels for k, v in some.items()}
        for levels in itertools.product(*factors)
    }


def network(task: jaxtheory.Task) -> jaxtheory.Theory:
    """The theory of the Transformer on fresh samples of a task."""
    return networks.transformer(jaxtheory.tasks.fresh(task))


def levels(task: Any, _params: Any, problem: Any, config: Any) -> Float[Array, " 3"]:
    """The best loss, and that without the prompt and without the tokens of the theorem."""
    worse = [task.optimal_without(word, problem, config) for word in ("prompt", "tokens")]
    return jnp.stack([task.optimal(problem, config)["loss"], *worse])


def cut_loss(
    theory: Any, edges: Any, others: bool, params: Any, problem: Any, config: Any
) -> Array:
    """The loss of a network where the edges to the tokens of the theorem are cut, or all others."""

    def chosen(batch: Any, problem: Any, config: Any) -> Array:
        own: Array = edges(batch, problem, config)
        return ~own & ~jnp.eye(own.shape[1], dtype=bool)[None] if others else own

    changed = networks.intervene(theory, networks.cut_edges(chosen))
    return jnp.asarray(changed.metrics(params, problem, config)["loss"])


def observed(ladder: Ladder) -> dict[str, Any]:
    """Observables of a network, as arguments of a sweep."""
    cut = functools.partial(cut_loss, ladder.network, ladder.task.edges)
    return {
        "observe": {
            "levels": functools.partial(levels, ladder.task),
            "without": functools.partial(cut, False),
            "only": functools.partial(cut, True),
        },
        "dims": {"levels": ("level",)},
    }


def measured(data: xr.Dataset, metrics: tuple[str, ...]) -> dict[str, xr.DataArray]:
    """What a sweep of networks measures at its end."""
    best, prompt, tokens = (data.levels.isel(level=i) for i in range(3))
    return {
        "closed": last((prompt - data.loss) / (prompt - best)),
        "used": last((data.without - data.loss) / (tokens - best)),
        "others": last((data.only - data.loss) / (tokens - best)),
        **{name: last(data[name]) for name in metrics},
    }


def best_rate(theory: Any, config: Any, algorithm: str, steps: int, store: Path) -> float:
    """The learning rate with the least mean loss after half of the steps, on other seeds."""
    some = max(1, steps // 2)
    data = jaxtheory.sweep(
        theory,
        config.replace(horizon=some),
        vary={"rate": RATES[algorithm]},
        steps=some,
        record=[some],
        algorithm=algorithm,
        dtype="float32",
        store=store,
        **TUNING,
    )
    losses = last(data.loss).mean("seed", skipna=False).fillna(np.inf).values
    return float(data.rate.values[np.argmin(losses)])


def trained(
    ladder: Ladder, folder: Path, key: int, progress: Any, *, only: list[str] | None, **options: Any
) -> xr.Dataset:
    """What the networks of the cells and the theorem's model do, by cell and seed.

    The sweep of each is stored in the folder, and read from it if it is there.

    Args:
        ladder: The data law.
        folder: The folder of the stores.
        key: Root of all random numbers.
        progress: Called with what is done, or None.
        only: Some of the cells, or None for all.
        **options: `seeds`, `steps` of the networks, `own_steps` of the theorem's model, `width`,
            the layers and heads of the large network as `size`, and `long`, whether sequences are.
    """
    settings = {THEOREM: None, **cells((ladder.depth, 1), options["size"])}
    data = ladder.data | (ladder.long if options["long"] else {})
    begun, found = time.perf_counter(), []
    some = list(settings) if only is None else only
    for done, cell in enumerate(some, start=1):
        fields, store = settings[cell], folder / str(list(settings).index(cell))
        if fields is None:
            values = _theorem(ladder, data, store, key, options)
        else:
            values = _network(fields, ladder, data, store, key, options)
        found.append(xr.Dataset({n: x.astype(float).drop_attrs() for n, x in values.items()}))
        if progress is not None:
            spent = time.perf_counter() - begun
            progress("cell", done, len(some), spent / done * (len(some) - done))
    whole = xr.concat(found, "cell", join="override", combine_attrs="drop", data_vars="all")
    return whole.assign_coords(cell=some)


def _theorem(
    ladder: Ladder, data: dict[str, Any], folder: Path, key: int, options: Mapping[str, Any]
) -> dict[str, xr.DataArray]:
    theory = ladder.theory
    steps = min(ladder.theorem["steps"], options["own_steps"])
    runs = jaxtheory.sweep(
        theory,
        theory.Config(**data, **ladder.theorem["settings"]),
        seeds=options["seeds"],
        key=key,
        steps=steps,
        record=[steps],
        algorithm=ladder.theorem.get("algorithm"),
        store=folder,
        dtype="float32",
    )
    missing = xr.DataArray(np.full(options["seeds"], np.nan), {"seed": runs.seed}, ["seed"])
    found = dict.fromkeys((*MEASURES, *ladder.metrics, "rate"), missing)
    return found | {name: last(values) for name, values in ladder.read(runs).items()}


def _network(
    settings: dict[str, Any],
    ladder: Ladder,
    data: dict[str, Any],
    folder: Path,
    key: int,
    options: Mapping[str, Any],
) -> dict[str, xr.DataArray]:
    fields, theory, steps = dict(settings), ladder.network, options["steps"]
    algorithm = fields.pop("algorithm")
    config = theory.Config(**data, **fields, width=options["width"], horizon=steps)
    rate = best_rate(theory, config, algorithm, steps, folder / "rates")
    config = config.replace(rate=rate)
    runs = jaxtheory.sweep(
        theory,
        config,
        seeds=options["seeds"],
        key=key,
        steps=steps,
        record=[steps],
        algorithm=algorithm,
        dtype="float32",
        store=folder / "networks",
        save_params=False if ladder.also is None else [0, steps],
        **observed(ladder),
    )
    found = measured(runs, ladder.metrics)
    found["rate"] = xr.full_like(found["closed"], rate, dtype=float)
    if ladder.also is not None:
        found |= ladder.also(Trained(theory, config, runs))
    return found


def parts(ladder: Ladder, steps: int, seeds: int = 8) -> dict[str, Any]:
    """The experiment of a ladder and its options, as arguments of its Figure."""
    few = [THEOREM, list(cells((2, 4)))[-1]]
    return {
        "theory": None,
        "config": None,
        "experiment": functools.partial(trained, ladder),
        "sweep": {
            "only": None,
            "seeds": seeds,
            "steps": steps,
            "own_steps": ladder.theorem["steps"],
            "width": 16,
            "size": (2, 4),
            "long": False,
        },
        "quick": {"only": few, "seeds": 2, "steps": 20, "own_steps": 20, "width": 8},
        "large": {"steps": 5 * steps, "width": 128, "size": (4, 8), "long": True},
    }


def learned(data: xr.Dataset, name: str, kind: str = "") -> xr.DataArray:
    """A measure of the networks that have learned their task, NaN for the others.

    kind: only those whose cell begins with it.
    """
    some = [cell for cell in data.cell.values if cell != THEOREM and cell.startswith(kind)]
    return data[name].where(data.closed >= LEARNED).sel(cell=some)


def learns(number: str, task: str, least: int = 6) -> Claim:
    """A claim: most of the eight networks learn the task."""
    return Claim(
        number,
        origin=derived("measured"),
        statement=f"At least {least} of the eight networks learn {task}: they close 0.9 of the gap from the best answer without the prompt to the best one.",
        measure=Measure(
            "networks of eight that close 0.9 of the gap",
            lambda data: learned(data, "closed").notnull().sum("cell"),
        ),
        bound=at_least(least),
        why="What a network uses can be asked only of one that has learned something.",
    )


def uses(number: str, task: str, tokens: str, least: float = 0.5) -> Claim:
    """A claim: networks that have learned lose half of the gap without the theorem's tokens."""
    return Claim(
        number,
        origin=derived("measured"),
        statement=f"Networks that have learned {task} use {tokens}: with the edges to them cut each loses at least {least:g} of the gap to the best answer without them.",
        measure=Measure(
            "rise of the loss without the theorem's edges, over the gap, least of those that learned",
            lambda data: learned(data, "used").min("cell"),
        ),
        bound=at_least(least),
        why="It is the mechanism of the theorem, by intervention and not by the size of attention.",
    )


def uses_no_others(number: str, task: str, tokens: str, most: float = 0.1) -> Claim:
    """A claim: networks that have learned lose a tenth of the gap at most without all others."""
    return Claim(
        number,
        origin=derived("measured"),
        statement=f"Networks with AdamW, residual stream, norm and MLP that have learned {task} use nothing but {tokens}: with all other edges cut each loses at most {most:g} of the gap.",
        measure=Measure(
            "rise of the loss without all other edges, over the gap, largest of those that learned",
            lambda data: learned(data, "others", "AdamW, block").max("cell"),
        ),
        bound=at_most(most),
        why="A network may also read what the theorem does not need.",
    )


def effects(closed: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return the rise of the share of the gap closed from the first level of a factor to the second.

    It is the difference of two means over networks, by factor and seed. One that diverged, or is worse than without the
    prompt, closes nothing.
    """
    networks = closed.sel(cell=[cell for cell in closed.cell.values if cell != THEOREM])
    networks = networks.fillna(0).clip(0, None)
    rises = {}
    for names in zip(*(cell.split(", ") for cell in networks.cell.values), strict=True):
        has = xr.DataArray([name == names[-1] for name in names], {"cell": networks.cell}, ["cell"])
        rises[names[-1]] = networks.where(has).mean("cell") - networks.where(~has).mean("cell")
    return rises


def panels(data: xr.Dataset, shown: Mapping[str, str]) -> plot.Drawing:
    """A panel for each measure: its median and range over the seeds, one cell below the other.

    Marks are filled where the typical network has learned its task.
    """
    measures = xr.concat([data[name] for name in shown], "measure")
    data = data.isel(cell=np.flatnonzero(measures.notnull().any(["measure", "seed"])))
    figure, (row,) = plot.panels(len(shown), width=2.0, across=len(shown))
    places = np.arange(data.sizes["cell"])[::-1]
    filled = data.closed.median("seed").values >= LEARNED
    for ax, (name, label) in zip(row, shown.items(), strict=True):
        low, middle, high = data[name].quantile([0, 0.5, 1], "seed", skipna=True).values
        for place, full, *ends in zip(places, filled, low, middle, high, strict=True):
            color = plot.COLORS[0]
            ax.plot([ends[0], ends[2]], [place, place], color=color, lw=1)
            ax.plot(ends[1], place, "o", color=color, mfc=color if full else "white", ms=5)
        end = 1 if np.nanmin(middle) > -0.05 else 0  # shares have all of their range
        least, most = min(0, np.nanmin(middle)), max(end, np.nanmax(middle))
        room = 0.3 * (most - least)  # for the ranges; longer ones are cut
        least = max(min(0, np.nanmin(low)), least - room)
        most = min(max(end, np.nanmax(high)), most + room)
        ax.set_xlim(least - 0.1 * room, most + 0.1 * room)
        ax.set_ylim(-0.6, len(places) - 0.4)
        plot.ticks(ax.yaxis, places, data.cell.values if ax is row[0] else [""] * len(places))
        ax.locator_params(axis="x", nbins=3)
        plot.finish(ax, label, "")
    plot.remark(
        figure,
        "Medians and ranges over the seeds; filled: the typical network has learned (0.9 of the gap).",
    )
    low, middle, high = (
        {name: float(x.quantile(q)) for name, x in effects(data.closed).items()}
        for q in (0, 0.5, 1)
    )
    words = [
        f"{name} {middle[name]:+.2f} [{low[name]:.2f}, {high[name]:.2f}]"
        for name in middle
        if np.isfinite(middle[name])
    ]
    if words:
        line = ", ".join(words).replace("-", "−")
        plot.remark(figure, f"Effects on the share of the gap closed: {line}.")
    return figure
