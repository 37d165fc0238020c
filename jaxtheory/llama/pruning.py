"""Pruning of a whole model on calibration text, layer after layer, with a dataset as report."""

import hashlib
import math
import time
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

from jaxtheory.llama import layers, model
from jaxtheory.llama.config import Config, notice_length
from jaxtheory.llama.layers import ATTENTION, MATRICES, METHODS, Gradient, LayerPlan, Ratios
from jaxtheory.llama.model import Layer, Weights
from jaxtheory.ops import draws
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError, suggest

_GRADIENT = Gradient()
_CLOSE = 0.005  # difference between a share and that of a pattern that rounding may explain


def plan_pruning(
    config: Config,
    sequences: int,
    *,
    attention: str = "gradient",
    mlp: str = "dense",
    value_output: str = "dense",
    ratio: float | None = None,
    mlp_ratio: float | None = None,
    pattern: tuple[int, int] | None = None,
    temperature: bool = False,
    gradient: Gradient = _GRADIENT,
) -> tuple[LayerPlan, Ratios]:
    """Check the methods of `prune` against the config and the number of sequences.

    Shares, patterns and temperatures that would have no effect are refused.

    Args:
        config: The config of the model.
        sequences: The number of calibration sequences.
        attention: The method for W_Q and W_K: gradient, magnitude, wanda, sparsegpt or dense.
        mlp: The method for the MLP: magnitude, wanda, sparsegpt or dense.
        value_output: The method for W_V and W_O, as for mlp.
        ratio: The share of zeros in each matrix of the attention, in [0, 1); None: 0.5, or that of
            the pattern.
        mlp_ratio: The share of zeros in each matrix of the MLP; None: as ratio.
        pattern: (N, M) keeps N of every M consecutive inputs of an output, a share of 1 - N/M.
        temperature: True scales the logits of each query head by the best factor on the
            calibration sequences, after pruning.
        gradient: Settings of the gradient method, which others do not read.

    Returns:
        The plan and the shares, 0 where nothing is pruned.

    Raises:
        InputError: A method is unknown, or a value is out of range or has no effect.
    """
    plan = LayerPlan(attention, mlp, value_output, pattern, temperature, gradient)
    _check_methods(plan)
    shares = {"ratio": ratio, "mlp_ratio": mlp_ratio}
    _check_shares(shares)
    _check_pattern(plan, shares, config)
    _check_effect(plan, shares)
    if attention == "gradient":
        _check_gradient(gradient, sequences)
    share = 0.5 if pattern is None else 1 - pattern[0] / pattern[1]
    if pattern is None and ratio is not None:
        share = float(ratio)
    mlp_share = share if pattern or mlp_ratio is None else float(mlp_ratio)
    parts = {attention, value_output} != {"dense"}, mlp != "dense"
    return plan, Ratios(share * parts[0], mlp_share * parts[1])


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
    """Prune every layer of a model on calibration sequences.

    Args:
        weights: The weights.
        tokens: Calibration sequences, integers in [0, V), (S, T).
        config: The config.
        heldout: Further sequences, integers in [0, V), (E, T), on which the error of the attention
            is measured.
        key: The seed of the draws of sequences by the gradient method if `Fit.batch` is positive,
            an integer in [0, 2^32).
        keep: A folder for finished layers, with which the same call resumes an interrupted one.
        progress: A function that is called after each layer with ("layer", finished layers, all
            layers, seconds left or None).
        **methods: attention, the method for W_Q and W_K ("gradient" by default, "magnitude",
            "wanda", "sparsegpt" or "dense"); mlp and value_output, the methods for the MLP and for
            W_V and W_O ("dense" by default, or one of the others except "gradient"); ratio, the
            share of zeros of each pruned matrix, in [0, 1), 0.5 by default; mlp_ratio, that of the
            MLP, by default the same; pattern, (N, M) to keep N of every M consecutive inputs in
            place of a share; temperature, True to scale the logits of each query head after
            pruning by the factor with the least attention error; gradient, a `Gradient`, which
            other methods do not read. A ratio, pattern or temperature that would have no effect is
            refused, such as mlp_ratio of a dense MLP.

    Returns:
        The weights, with pruned entries exactly zero, and a dataset over "layer": sparsity (layer,
        matrix); attention_error and attention_error_heldout, ||f - f*||_F / ||f*||_F with f and f*
        the attention weights after and before pruning, on the same inputs of the layer (the second
        is NaN without `heldout`); regularization and stop, the choice of the gradient method;
        seconds; and the numbers sparsity_of_layers and sparsity_of_model, the shares of zeros among
        the matrices of the layers and relative to all weights of the model.

    Raises:
        InputError: An argument is out of range, or a method zeroed fewer weights than requested.

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> config = llama.Config(**sizes, **heads)
        >>> weights = llama.init(jax.random.key(0), config)
        >>> _, report = llama.prune(weights, [[1, 2, 3]], config, attention="magnitude")
        >>> float(report.sparsity.sel(layer=0, matrix="query"))
        0.5
    """
    key = draws.number("key", key)
    tokens = model.check_tokens(tokens, config)
    heldout = None if heldout is None else model.check_tokens(heldout, config)
    plan, ratios = plan_pruning(config, len(tokens), **methods)
    notice_length(max(t.shape[1] for t in (tokens, heldout) if t is not None), config)
    done = keep and Path(keep) / _digest(
        weights, tokens, heldout, key, ratios, plan, replace(config, source="{}")
    )
    streams = [model.embed(weights, t) for t in (tokens, heldout) if t is not None]
    begun, computed = time.perf_counter(), 0
    pruned_layers, rows = [], []
    for i, dense in enumerate(weights.layers):
        at = config.at(i)
        stored = done and _stored(done, i, dense)
        if stored:
            pruned, row = stored
        else:
            start = time.perf_counter()
            pruned, choice = layers.prune_layer(
                jax.random.fold_in(jax.random.key(key), i), dense, streams[0], ratios, plan, at
            )
            row = {
                **_sparsity(i, pruned, ratios, plan),
                "attention_error": float(layers.attention_error(dense, pruned, streams[0], at)),
                "attention_error_heldout": float(
                    layers.attention_error(dense, pruned, streams[-1], at)
                )
                if heldout is not None
                else math.nan,
                "regularization": float(choice.regularization),
                "stop": float(choice.stop),
                "seconds": time.perf_counter() - start,
            }
            computed += 1
            if done:
                _store(done, i, pruned, row)
        streams = [model.block(pruned, x, at) for x in streams]
        pruned_layers.append(pruned)
        rows.append(row)
        if progress is not None:
            spent = time.perf_counter() - begun
            remaining = spent / computed * (len(weights.layers) - i - 1) if computed else None
            progress("layer", i + 1, len(weights.layers), remaining)
    return replace(weights, layers=tuple(pruned_layers)), _report(rows, ratios, plan, config)


def _check_methods(plan: LayerPlan) -> None:
    for name, methods in (("attention", ATTENTION), ("mlp", METHODS), ("value_output", METHODS)):
        value = getattr(plan, name)
        if value not in methods:
            raise InputError(f"{name} = {value!r}: unknown; {suggest(str(value), methods)}")


def _check_shares(given: dict[str, float | None]) -> None:
    for name, ratio in given.items():
        number = isinstance(ratio, float | int) and not isinstance(ratio, bool)
        if ratio is not None and not (number and 0 <= ratio < 1):
            raise InputError(f"{name} = {ratio!r}: must be a number in [0, 1)")


def _check_pattern(plan: LayerPlan, given: dict[str, float | None], config: Config) -> None:
    if plan.pattern is None:
        return
    keep, group = plan.pattern
    if not 0 < keep <= group:
        raise InputError(f"pattern = {keep}:{group}: must be N:M with 1 <= N <= M")
    for name, ratio in given.items():
        if ratio is not None and abs(ratio - (1 - keep / group)) > _CLOSE:
            raise InputError(
                f"{name} = {ratio}: pattern = {keep}:{group} makes a share of "
                f"{1 - keep / group:.4g} zero; leave out one of the two"
            )
    layer = model.shapes(config).layers[0]
    for matrix in MATRICES:
        size = getattr(layer, matrix).shape[0]
        if plan.method(matrix) != "dense" and size % group:
            raise InputError(
                f"pattern = {keep}:{group}: {matrix} has {size} inputs, not a multiple of {group}"
            )


def _check_effect(plan: LayerPlan, given: dict[str, Any]) -> None:
    """Raise InputError for a value that is given and has no effect, as what it is for is dense."""
    attention = {plan.attention, plan.value_output} != {"dense"}
    mlp = plan.mlp != "dense"
    used = {
        "ratio": attention or (mlp and given["mlp_ratio"] is None),
        "mlp_ratio": mlp,
        "pattern": attention or mlp,
        "temperature": plan.attention != "dense",
    }
    settings = given | {"pattern": plan.pattern, "temperature": plan.temperature or None}
    for name, effect in used.items():
        if settings[name] is not None and not effect:
            raise InputError(
                f"{name} = {settings[name]}: has no effect with attention = {plan.attention!r}, "
                f"mlp = {plan.mlp!r} and value_output = {plan.value_output!r}; leave it out or "
                "choose another method"
            )


def _check_gradient(options: Gradient, sequences: int) -> None:
    fitted = sequences - round(options.selection * sequences)
    settings = {**options._asdict(), **options.fit._asdict()}
    conditions = {
        "regularizations": (min(options.regularizations, default=0) > 0, "positive numbers"),
        "selection": (0 <= options.selection < 1 and fitted > 0, "a share below 1"),
        "ranking": (options.ranking in ("mask", "magnitude_mask"), "mask or magnitude_mask"),
        "steps": (settings["steps"] >= 1, "at least 1"),
        "step_scale": (settings["step_scale"] > 0, "positive"),
        "momentum": (0 <= settings["momentum"] < 1, "in [0, 1)"),
        "stops": (all(0 < stop <= 1 for stop in settings["stops"]), "shares in (0, 1]"),
        "batch": (
            0 <= settings["batch"] <= fitted,
            f"at most the {fitted} sequences that are fitted",
        ),
    }
    for name, (holds, wanted) in conditions.items():
        if not holds:
            raise InputError(f"gradient: {name} = {settings[name]!r}: must be {wanted}")


def _sparsity(i: int, pruned: Layer, ratios: Ratios, plan: LayerPlan) -> dict[str, float]:
    """Return the share of zeros of each matrix; raise InputError if there are too few."""
    shares = {}
    for matrix in MATRICES:
        weights = getattr(pruned, matrix)
        zeros = int(weights.size - jnp.count_nonzero(weights))
        wanted = layers.zeros_wanted(ratios, plan, matrix, weights.shape)
        if zeros < wanted or not bool(jnp.all(jnp.isfinite(weights))):
            raise InputError(
                f"layer {i}, {matrix}: {plan.method(matrix)} gave {zeros} zeros of {wanted}, or "
                "weights that are not finite; do weights and text belong to the same model?"
            )
        shares[matrix] = zeros / weights.size
    return shares


def _report(
    rows: list[dict[str, float]], ratios: Ratios, plan: LayerPlan, config: Config
) -> xr.Dataset:
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


def _digest(weights: Weights, *arguments: Any) -> str:
    """Return a hash of everything that determines the pruned weights, as a name of a folder."""
    leaves, tree = jax.tree.flatten((weights, arguments[:2]))
    shapes = [(leaf.shape, str(leaf.dtype)) for leaf in leaves]
    mark = hashlib.blake2b(repr((tree, shapes, arguments[2:])).encode(), digest_size=8)
    for leaf in leaves:
        mark.update(np.ascontiguousarray(leaf).reshape(-1).view(np.uint8).data)
    return mark.hexdigest()


def _path(folder: Path, i: int) -> Path:
    return folder / f"layer-{i:03d}.safetensors"


def _arrays(layer: Layer) -> list[str]:
    """Return the names of the weights that a layer has."""
    return [name for name in layer.__dataclass_fields__ if getattr(layer, name) is not None]


def _store(folder: Path, i: int, layer: Layer, row: dict[str, float]) -> None:
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    partial = _path(folder, i).with_suffix(".part")
    arrays = {name: np.asarray(getattr(layer, name)) for name in _arrays(layer)}
    save_file(arrays, partial, metadata={name: repr(value) for name, value in row.items()})
    partial.replace(_path(folder, i))


def _stored(folder: Path, i: int, like: Layer) -> tuple[Layer, dict[str, float]] | None:
    from safetensors import SafetensorError, safe_open

    names = _arrays(like)
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
    except (OSError, SafetensorError, ValueError, KeyError):  # damaged, so it is recomputed
        return None
