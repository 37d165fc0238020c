"""Pruning a whole Llama, layer after layer, on calibration text; what was reached is a dataset."""

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.typing import ArrayLike
from jaxtyping import Int

from jaxtheory.core.errors import InputError, suggest
from jaxtheory.llama import layers, model
from jaxtheory.llama.config import Config
from jaxtheory.llama.layers import ATTENTION, MATRICES, METHODS, Gradient, Plan, Ratios
from jaxtheory.llama.model import Layer, Weights
from jaxtheory.ops import draws
from jaxtheory.system.backend import computes

_GRADIENT = Gradient()


def planned(
    config: Config,
    sequences: int,
    *,
    attention: str = "gradient",
    mlp: str = "dense",
    value_output: str = "dense",
    ratio: float = 0.5,
    mlp_ratio: float | None = None,
    pattern: tuple[int, int] | None = None,
    temperature: bool = False,
    gradient: Gradient = _GRADIENT,
) -> tuple[Plan, Ratios]:
    """The methods of `prune`, checked against the config and the number of sequences.

    attention: for W_Q and W_K, one of gradient, magnitude, wanda, sparsegpt, dense; mlp and
    value_output: for the MLP and for W_V and W_O, one of the last four. ratio: share of zeros of
    each matrix of the attention, in [0, 1); mlp_ratio: the same of the MLP (None: as ratio).
    pattern (N, M): N of every M consecutive inputs of an output are kept instead. temperature: each
    query head then gets the factor on its logits that is best on the calibration sequences.
    gradient: settings of that method. Raises InputError.
    """
    plan = Plan(attention, mlp, value_output, pattern, temperature, gradient)
    ratios = Ratios(ratio, ratio if mlp_ratio is None else mlp_ratio)
    _check_methods(plan, ratios)
    ratios = Ratios(*map(float, ratios))
    _check_pattern(plan, config)
    if attention == "gradient":
        _check_gradient(gradient, sequences)
    return plan, ratios


@computes
def prune(
    weights: Weights,
    tokens: Int[ArrayLike, "S T"],
    config: Config,
    *,
    heldout: Int[ArrayLike, "E T"] | None = None,
    key: int = 0,
    keep: str | Path | None = None,
    progress: Callable[[str, int, int, float | None], Any] | None = None,
    **methods: Any,
) -> tuple[Weights, xr.Dataset]:
    """Prune every layer on calibration sequences tokens (S, T); methods: the arguments of
    `planned`, attention, mlp, value_output, ratio, mlp_ratio, pattern, temperature, gradient.

    heldout: sequences on which the error of the attention is measured too. key: root of the random
    numbers (of the gradient method with batch). keep: a folder for finished layers, so that the
    same call goes on where one was stopped. progress: called after each layer with ("layer", done,
    of, seconds left).

    Returns the weights, pruned entries exactly zero, and a dataset over `layer`: sparsity (layer,
    matrix), attention_error and attention_error_heldout (||f - f*||_F / ||f*||_F on what reaches
    the layer), regularization and stop that the gradient method took, seconds. Raises InputError
    for arguments out of range and where fewer weights than asked for could be zeroed.
    """
    key = draws.number("key", key)
    tokens = model.checked(tokens, config)
    heldout = None if heldout is None else model.checked(heldout, config)
    plan, ratios = planned(config, len(tokens), **methods)
    done = keep and Path(keep) / _digest(
        weights, tokens, heldout, key, ratios, plan, replace(config, source="{}")
    )
    streams = [model.embed(weights, t) for t in (tokens, heldout) if t is not None]
    begun, computed = time.perf_counter(), 0
    found, rows = [], []
    for i, dense in enumerate(weights.layers):
        stored = done and _stored(done, i, dense)
        if stored:
            pruned, row = stored
        else:
            start = time.perf_counter()
            pruned, choice = layers.prune(
                jax.random.fold_in(jax.random.key(key), i), dense, streams[0], ratios, plan, config
            )
            row = {
                **_sparsity(i, pruned, ratios, plan),
                "attention_error": float(layers.error(dense, pruned, streams[0], config)),
                "attention_error_heldout": float(layers.error(dense, pruned, streams[-1], config))
                if heldout is not None
                else math.nan,
                "regularization": float(choice.regularization),
                "stop": float(choice.stop),
                "seconds": time.perf_counter() - start,
            }
            computed += 1
            if done:
                _store(done, i, pruned, row)
        streams = [model.block(pruned, x, config) for x in streams]
        found.append(pruned)
        rows.append(row)
        if progress is not None:
            spent = time.perf_counter() - begun
            left = spent / computed * (len(weights.layers) - i - 1) if computed else None
            progress("layer", i + 1, len(weights.layers), left)
    return replace(weights, layers=tuple(found)), _report(rows, ratios, plan, config)


def _check_methods(plan: Plan, ratios: Ratios) -> None:
    for name, known in (("attention", ATTENTION), ("mlp", METHODS), ("value_output", METHODS)):
        value = getattr(plan, name)
        if value not in known:
            raise InputError(f"{name} = {value!r}: unknown; {suggest(str(value), known)}")
    for name, ratio in (("ratio", ratios.attention), ("mlp_ratio", ratios.mlp)):
        if not (isinstance(ratio, float | int) and 0 <= ratio < 1):
            raise InputError(f"{name} = {ratio!r}: must be a number in [0, 1)")


def _check_pattern(plan: Plan, config: Config) -> None:
    if plan.pattern is None:
        return
    keep, of = plan.pattern
    if not 0 < keep <= of:
        raise InputError(f"pattern = {keep}:{of}: must be N:M with 1 <= N <= M")
    layer = model.shapes(config).layers[0]
    for matrix in MATRICES:
        size = getattr(layer, matrix).shape[0]
        if plan.method(matrix) != "dense" and size % of:
            raise InputError(
                f"pattern = {keep}:{of}: {matrix} has {size} inputs, no multiple of {of}"
            )


def _check_gradient(options: Gradient, sequences: int) -> None:
    fitted = sequences - round(options.selection * sequences)
    given = {**options._asdict(), **options.fit._asdict()}
    holds = {
        "regularizations": (min(options.regularizations, default=0) > 0, "positive numbers"),
        "selection": (0 <= options.selection < 1 and fitted > 0, "a share below 1"),
        "ranking": (options.ranking in ("mask", "magnitude_mask"), "mask or magnitude_mask"),
        "steps": (given["steps"] >= 1, "at least 1"),
        "step_scale": (given["step_scale"] > 0, "positive"),
        "momentum": (0 <= given["momentum"] < 1, "in [0, 1)"),
        "stops": (all(0 < stop <= 1 for stop in given["stops"]), "shares in (0, 1]"),
        "batch": (0 <= given["batch"] <= fitted, f"at most the {fitted} sequences that are fitted"),
    }
    for name, (fine, wanted) in holds.items():
        if not fine:
            raise InputError(f"gradient: {name} = {given[name]!r}: must be {wanted}")


def _sparsity(i: int, pruned: Layer, ratios: Ratios, plan: Plan) -> dict[str, float]:
    """Share of zeros of each matrix; InputError where a pruned one has fewer than asked for."""
    shares = {}
    for matrix in MATRICES:
        weights = getattr(pruned, matrix)
        zeros = int(weights.size - jnp.count_nonzero(weights))
        wanted = layers.zeros_wanted(ratios, plan, matrix, weights.shape)
        if zeros < wanted or not bool(jnp.all(jnp.isfinite(weights))):
            raise InputError(
                f"layer {i}, {matrix}: {plan.method(matrix)} gave {zeros} zeros of {wanted}, or "
                "weights that are not finite; are weights and text those of one model?"
            )
        shares[matrix] = zeros / weights.size
    return shares


def _report(rows: list[dict[str, float]], ratios: Ratios, plan: Plan, config: Config) -> xr.Dataset:
    plain = [name for name in rows[0] if name not in MATRICES]
    data = xr.Dataset(
        {
            "sparsity": (("layer", "matrix"), [[row[m] for m in MATRICES] for row in rows]),
            **{name: ("layer", [row[name] for row in rows]) for name in plain},
        },
        {"layer": range(len(rows)), "matrix": list(MATRICES)},
    )
    sizes = {m: getattr(model.shapes(config).layers[0], m) for m in MATRICES}
    size = xr.DataArray([np.prod(sizes[m].shape) for m in MATRICES], dims="matrix")
    total = sum(np.prod(w.shape) for w in jax.tree.leaves(model.shapes(config)))
    data["sparsity_of_layers"] = data.sparsity.weighted(size).mean()
    data["sparsity_of_model"] = (data.sparsity * size).sum() / total
    return data.assign_attrs(
        attention=plan.attention,
        mlp=plan.mlp,
        value_output=plan.value_output,
        ratio=float(ratios.attention),
        mlp_ratio=float(ratios.mlp),
        pattern="" if plan.pattern is None else "{}:{}".format(*plan.pattern),
    )


# ------------------------------------------------------------------------------- finished layers


def _digest(weights: Weights, *given: Any) -> str:
    """Eight digits of everything that determines the pruned weights."""
    mark = zlib.crc32(repr(given[2:]).encode())
    for leaf in jax.tree.leaves((weights, given[:2])):
        mark = zlib.crc32(np.ascontiguousarray(leaf).reshape(-1).view(np.uint8).data, mark)
    return f"{mark:08x}"


def _path(folder: Path, i: int) -> Path:
    return folder / f"layer-{i:03d}.safetensors"


def _store(folder: Path, i: int, layer: Layer, row: dict[str, float]) -> None:
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    partial = _path(folder, i).with_suffix(".part")
    arrays = {name: np.asarray(getattr(layer, name)) for name in layer.__dataclass_fields__}
    save_file(arrays, partial, metadata={name: repr(value) for name, value in row.items()})
    partial.replace(_path(folder, i))


def _stored(folder: Path, i: int, like: Layer) -> tuple[Layer, dict[str, float]] | None:
    from safetensors import SafetensorError, safe_open

    names = like.__dataclass_fields__
    try:
        with safe_open(_path(folder, i), framework="numpy") as file:
            row = {name: float(value) for name, value in (file.metadata() or {}).items()}
            if any(
                file.get_slice(name).get_shape() != list(getattr(like, name).shape)
                for name in names
            ):
                return None
            arrays = {name: jnp.asarray(file.get_tensor(name)) for name in names}
        order = [*MATRICES, *(name for name in row if name not in MATRICES)]
        return Layer(**arrays), {name: row[name] for name in order}
    except (OSError, SafetensorError, ValueError, KeyError):  # damaged: it is computed anew
        return None
