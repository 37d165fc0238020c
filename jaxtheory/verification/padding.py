"""Whether a theory's numbers depend on the padding of its arrays, and which theories have been seen
not to.

A size field n padded to a capacity above n must change nothing: a mean over the capacity in place
of n, or a diagonal without its mask, would be a wrong number in silence as soon as a sweep pads.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, ConfigType, canonical, fields
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.ops.draws import run_key

_MORE = 3  # by which capacities are raised
_STEPS = 3  # of each algorithm
TOLERANCE = 1e-10  # of the larger of |want| and 1e-3
_NUDGE = 1e-14  # rounding of a start

_FIRST = ("problem", "sample", "init")  # in the order in which slots rely on each other
_LAST = ("loss", "gradient", "metrics", "analyses", "baselines", "predict")


class Compared(NamedTuple):
    """A slot of a theory without padding and with it: the array and index that differ most, in the
    unit of the tolerance.
    """

    slot: str
    entry: str
    got: float
    want: float
    error: float


def widened(config: ConfigType, names: Any = None) -> ConfigType:
    """The config with the capacity of some size fields raised (None: of all)."""
    sizes = [n for n, f in fields(type(config)).items() if f.kind == "size"]
    chosen = sizes if names is None else names
    return config.pad(**{n: getattr(config, n).cap + _MORE for n in chosen})


def _outputs(theory: Theory, key: jax.Array, config: Config, nudge: float = 0) -> dict[str, Any]:
    """What each slot gives on one run of a few steps, from a state that is off by `nudge`."""
    at = lambda i: jax.random.fold_in(key, i)
    problem = theory.problem(at(0), config)
    batch = theory.sample(at(1), problem, config)
    found: dict[str, Any] = {"problem": problem, "sample": batch}
    params = found["init"] = theory.init(at(2), problem, config)
    for name, algorithm in theory.algorithms.items():
        sample = algorithm.sample or theory.sample

        def step(t: Any, state: Any, algorithm: Any = algorithm, sample: Any = sample) -> Any:
            drawn = sample(jax.random.fold_in(at(3), t), problem, config)
            new = algorithm.step(jax.random.fold_in(at(4), t), t, state, drawn, problem, config)
            return jax.tree.map(lambda n, o: jnp.asarray(n, o.dtype), new, state)

        state = jax.tree.map(jnp.asarray, algorithm.init(at(2), problem, config))
        state = jax.tree.map(functools.partial(_nudged, nudge), state)
        state = jax.lax.fori_loop(0, _STEPS, step, state)
        shown = found[f"algorithm {name}"] = algorithm.params(state, problem, config)
        if name == next(iter(theory.algorithms)):
            params = shown
    same = str(jax.tree.structure(params)) == str(jax.tree.structure(found["init"]))
    start = params if same else found["init"]  # an algorithm may show other parameters
    found["loss"] = theory.loss(start, batch, problem, config)
    found["gradient"] = theory.gradient(start, batch, problem, config)
    found["metrics"] = theory.metrics(params, problem, config)
    found["analyses"] = theory.analyses(params, problem, config)
    found["baselines"] = theory.baselines(problem, config)
    found["predict"] = theory.predict(problem, config, np.arange(_STEPS + 1))
    return found


def compare(theory: Theory, example: Config) -> list[Compared]:
    """Each slot that gives anything, on an example as it is and padded. Of a slot that differs, and
    of those after it, the sizes that it depends on are named in `entry`.
    """
    with numerics("float64") as dtype:
        plain = canonical(example, dtype)
        want = _run(theory, plain)
        found = list(_differences(_run(theory, canonical(widened(example), dtype)), want))
        if all(row.error <= 1 for row in found):
            return found
        found = list(_excused(found, _differences(_run(theory, plain, _NUDGE), want)))
        if all(row.error <= 1 for row in found):
            return found
        named = []
        sizes = [n for n, f in fields(type(example)).items() if f.kind == "size"]
        alone = {
            n: {
                row.slot: row
                for row in _differences(_run(theory, canonical(widened(example, [n]), dtype)), want)
            }
            for n in sizes
        }
        for row in found:
            guilty = [n for n in sizes if alone[n][row.slot].error > 1]
            words = (
                f" depends on the padding of {', '.join(guilty)}"
                if guilty
                else " depends on padding"
            )
            named.append(row if row.error <= 1 else row._replace(entry=row.entry + words))
        return named


def _nudged(by: float, x: jax.Array) -> jax.Array:
    """Real entries moved by up to so much, each by another amount."""
    if not by or not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return x + by * jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)


def _excused(rows: Iterable[Compared], twin: Iterable[Compared]) -> Iterator[Compared]:
    """Rows that differ no more than a run from a start that is off by NUDGE does, as agreeing: Adam
    divides a gradient that is zero but for rounding by itself.
    """
    moved = {row.slot: row.error for row in twin}
    for row in rows:
        yield row._replace(error=min(row.error, 1)) if row.error <= moved[row.slot] else row


def _run(theory: Theory, config: Config, nudge: float = 0) -> dict[str, Any]:
    """`_outputs`, compiled for one call, as NumPy arrays."""
    program = jax.jit(
        lambda config: _outputs(theory, run_key(0, 0), config, nudge),
        compiler_options=compiler_options(level=2),
    )
    out = jax.device_get(program(config))
    algorithms = [f"algorithm {name}" for name in theory.algorithms]
    return {slot: out[slot] for slot in (*_FIRST, *algorithms, *_LAST)}  # jit sorts names


def _differences(got: Mapping[str, Any], want: Mapping[str, Any]) -> Iterator[Compared]:
    """The worst entry of each slot that gives numbers."""
    for slot, right in want.items():
        pairs = zip(jax.tree.leaves_with_path(right), jax.tree.leaves(got[slot]), strict=True)
        found = [
            _worst(slot, jax.tree_util.keystr(path, simple=True, separator=".") or slot, g, w)
            for (path, w), g in pairs
            if np.size(w) and np.issubdtype(np.asarray(w).dtype, np.number)
        ]
        if found:
            yield max(found, key=lambda row: row.error)


def _worst(slot: str, name: str, got: Any, want: Any) -> Compared:
    """The entry of an array that differs most: the leading part of the padded one counts.
    Parameters may be laid out otherwise, as blocks in a matrix, with the same entries and zeros.
    """
    w, padded = np.asarray(want, float), np.asarray(got, float)
    g = padded[tuple(map(slice, w.shape))]
    gap = _gaps(g, w)
    at = np.unravel_index(np.argmax(gap), gap.shape)
    index = f"[{', '.join(map(str, at))}]" if at else ""
    row = Compared(slot, name + index, float(g[at]), float(w[at]), float(gap[at]))
    if row.error > 1 and slot.partition(" ")[0] in ("init", "gradient", "algorithm"):
        some, all_of_them = np.sort(np.ravel(w)), np.sort(np.ravel(padded))
        zeros = np.zeros(all_of_them.size - some.size)
        moved = _gaps(all_of_them, np.sort(np.concatenate([some, zeros])))
        return row if np.max(moved) > 1 else row._replace(error=float(np.max(moved)))
    return row


def _gaps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """|got - want| in units of the tolerance; NaN equals NaN."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    gap = np.abs(got - want) / (TOLERANCE * np.maximum(np.abs(want), 1e-3))
    found: np.ndarray = np.where(same, 0, np.nan_to_num(gap, nan=np.inf))
    return found
