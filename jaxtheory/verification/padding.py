"""Comparison of a theory's numbers with and without padding of its arrays.

A size field n that is padded to a capacity above n must not change any number. Otherwise, for
instance with a mean over the capacity in place of n or an unmasked diagonal, a sweep that pads
would silently give wrong numbers.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code.keys import raw
from jaxtheory.core.config import Config, ConfigType, canonical, fields
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.ops.draws import run_key

_MORE = 3  # added to each capacity
_STEPS = 3  # training steps of each algorithm
TOLERANCE = 1e-10  # times the larger of |want| and 1e-3
_NUDGE = 1e-14  # perturbation of the initial state, of the order of rounding

_FIRST = ("problem", "sample", "init")  # in the order in which the slots use each other
_LAST = ("loss", "gradient", "metrics", "analyses", "baselines", "predict")


class PaddedSlot(NamedTuple):
    """The entry of a slot's results that padding changes most, with the error in tolerances."""

    slot: str
    entry: str
    got: float
    want: float
    error: float


def widened(config: ConfigType, names: Any = None) -> ConfigType:
    """Raise the capacities of these size fields, by default of all."""
    sizes = [n for n, f in fields(type(config)).items() if f.kind == "size"]
    chosen = sizes if names is None else names
    return config.pad(**{n: getattr(config, n).cap + _MORE for n in chosen})


def _outputs(theory: Theory, key: jax.Array, config: Config, nudge: float = 0) -> dict[str, Any]:
    """Return the results of each slot on one short run from a state perturbed by `nudge`."""
    at = lambda i: jax.random.fold_in(key, i)
    problem = theory.problem(at(0), config)
    batch = theory.sample(at(1), problem, config)
    outputs: dict[str, Any] = {"problem": problem, "sample": batch}
    params = outputs["init"] = theory.init(at(2), problem, config)
    for name, algorithm in theory.algorithms.items():
        sample = algorithm.sample or theory.sample

        def step(t: Any, state: Any, algorithm: Any = algorithm, sample: Any = sample) -> Any:
            drawn = sample(jax.random.fold_in(at(3), t), problem, config)
            new = algorithm.step(jax.random.fold_in(at(4), t), t, state, drawn, problem, config)
            return jax.tree.map(lambda n, o: jnp.asarray(n, o.dtype), new, state)

        state = jax.tree.map(jnp.asarray, algorithm.init(at(2), problem, config))
        state = jax.tree.map(functools.partial(_nudged, nudge), state)
        state = jax.lax.fori_loop(0, _STEPS, step, state)
        trained = outputs[f"algorithm {name}"] = algorithm.params(state, problem, config)
        if name == next(iter(theory.algorithms)):
            params = trained
    same = str(jax.tree.structure(params)) == str(jax.tree.structure(outputs["init"]))
    start = params if same else outputs["init"]  # an algorithm may return other parameters
    outputs["loss"] = theory.loss(start, batch, problem, config)
    outputs["gradient"] = theory.gradient(start, batch, problem, config)
    outputs["metrics"] = theory.metrics(params, problem, config)
    outputs["analyses"] = theory.analyses(params, problem, config)
    outputs["baselines"] = theory.baselines(problem, config)
    outputs["predict"] = theory.predict(problem, config, np.arange(_STEPS + 1))
    return outputs


def compare_padded(theory: Theory, example: Config) -> list[PaddedSlot]:
    """Compare the results of each slot on an example with those on the same example padded.

    Where a slot differs, `entry` names the sizes on whose padding it depends.
    """
    with numerics("float64") as dtype:
        plain = canonical(example, dtype)
        want = _run(theory, plain)
        rows = list(_differences(_run(theory, canonical(widened(example), dtype)), want))
        if all(row.error <= 1 for row in rows):
            return rows
        rows = list(_excused(rows, _differences(_run(theory, plain, _NUDGE), want)))
        if all(row.error <= 1 for row in rows):
            return rows
        named = []
        sizes = [n for n, f in fields(type(example)).items() if f.kind == "size"]
        rows_by_size = {
            n: {
                row.slot: row
                for row in _differences(_run(theory, canonical(widened(example, [n]), dtype)), want)
            }
            for n in sizes
        }
        for row in rows:
            causes = [n for n in sizes if rows_by_size[n][row.slot].error > 1]
            words = (
                f" depends on the padding of {', '.join(causes)}"
                if causes
                else " depends on padding"
            )
            named.append(row if row.error <= 1 else row._replace(entry=row.entry + words))
        return named


def _nudged(by: float, x: jax.Array) -> jax.Array:
    """Perturb real entries by at most `by`, each by a different amount."""
    if not by or not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return x + by * jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)


def _excused(rows: Iterable[PaddedSlot], twin: Iterable[PaddedSlot]) -> Iterator[PaddedSlot]:
    """Count rows as agreeing if they differ no more than a run whose start is perturbed by _NUDGE.

    Adam, for instance, divides a gradient that is zero up to rounding by itself.
    """
    moved = {row.slot: row.error for row in twin}
    for row in rows:
        yield row._replace(error=min(row.error, 1)) if row.error <= moved[row.slot] else row


def _run(theory: Theory, config: Config, nudge: float = 0) -> dict[str, Any]:
    """Compile and run `_outputs`, and return NumPy arrays."""
    program = jax.jit(
        lambda config: _outputs(theory, run_key(0, 0), config, nudge),
        compiler_options=compiler_options(level=2),
    )
    out = jax.tree.map(raw, program(config))
    algorithms = [f"algorithm {name}" for name in theory.algorithms]
    return {slot: out[slot] for slot in (*_FIRST, *algorithms, *_LAST)}  # jit sorts names


def _differences(got: Mapping[str, Any], want: Mapping[str, Any]) -> Iterator[PaddedSlot]:
    """Yield the worst entry of each slot that returns numbers."""
    for slot, right in want.items():
        pairs = zip(jax.tree.leaves_with_path(right), jax.tree.leaves(got[slot]), strict=True)
        rows = [
            _worst(slot, jax.tree_util.keystr(path, simple=True, separator=".") or slot, g, w)
            for (path, w), g in pairs
            if np.size(w) and np.issubdtype(np.asarray(w).dtype, np.number)
        ]
        if rows:
            yield max(rows, key=lambda row: row.error)


def _worst(slot: str, name: str, got: Any, want: Any) -> PaddedSlot:
    """Return the entry that differs most between an array and the leading part of the padded one.

    Parameters may have another layout, such as blocks in a matrix, with the same entries and zeros.
    """
    w, padded = np.asarray(want, float), np.asarray(got, float)
    g = padded[tuple(map(slice, w.shape))]
    gap = _gaps(g, w)
    at = np.unravel_index(np.argmax(gap), gap.shape)
    index = f"[{', '.join(map(str, at))}]" if at else ""
    row = PaddedSlot(slot, name + index, float(g[at]), float(w[at]), float(gap[at]))
    if row.error > 1 and slot.partition(" ")[0] in ("init", "gradient", "algorithm"):
        plain_entries, padded_entries = np.sort(np.ravel(w)), np.sort(np.ravel(padded))
        zeros = np.zeros(padded_entries.size - plain_entries.size)
        moved = _gaps(padded_entries, np.sort(np.concatenate([plain_entries, zeros])))
        return row if np.max(moved) > 1 else row._replace(error=float(np.max(moved)))
    return row


def _gaps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return |got - want| in units of the tolerance, where NaN equals NaN."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    gap = np.abs(got - want) / (TOLERANCE * np.maximum(np.abs(want), 1e-3))
    gaps: np.ndarray = np.where(same, 0, np.nan_to_num(gap, nan=np.inf))
    return gaps
