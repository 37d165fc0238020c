"""From a checkpoint folder and a text to a pruned checkpoint folder."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.core.errors import InputError
from jaxtheory.llama import checkpoint, model, pruning, tensors, text
from jaxtheory.ops import draws


class Pruned(NamedTuple):
    """Report of `prune` with the perplexity on held-out windows before and after."""

    report: xr.Dataset
    before: float
    after: float


def prune(
    source: str | Path,
    to: str | Path,
    corpus: str | Path,
    *,
    samples: int = 8,
    window: int = 128,
    evaluate: int = 128,
    key: int = 0,
    progress: Callable[[str, int, int, float | None], Any] | None = None,
    **methods: Any,
) -> Pruned:
    """Prune the checkpoint in `source` on windows of a text and write it to `to`, with the
    tokenizer and whatever else transformers needs; methods: those of `jaxtheory.llama.prune`.

    samples windows of `window` tokens calibrate, `evaluate` windows of the last fifth of the text
    measure perplexity and held-out error. Everything is checked before a weight is read. Layers
    that are done are kept beside `to` until the end, so that the same call goes on where one was
    stopped. Raises InputError.
    """
    source, to, key = Path(source), Path(to), draws.number("key", key)
    checkpoint.free(to)
    config = checkpoint.read_config(source)
    tokens = text.encode(text.read(corpus), source)
    windows = text.windows(tokens, samples, window, evaluate, key)
    try:
        for part in windows:
            model.checked(part, config)
    except InputError as error:
        raise InputError(f"{source}: the tokenizer is not that of the model, {error}") from None
    _, config = tensors.find(source, config)
    pruning.planned(config, samples, **methods)
    layers = to.with_name(f".{to.name}-layers")
    try:
        layers.mkdir(parents=True, exist_ok=True)  # before the work: can there be written?
    except (OSError, ValueError) as error:
        raise InputError(f"{to}: cannot be written ({error})") from None
    weights, config = checkpoint.load(source)
    before = model.perplexity(weights, windows.heldout, config)
    pruned, report = pruning.prune(
        weights,
        windows.calibration,
        config,
        heldout=windows.heldout,
        key=key,
        keep=layers,
        progress=progress,
        **methods,
    )
    after = model.perplexity(pruned, windows.heldout, config)
    checkpoint.save(to, pruned, config, like=source)
    shutil.rmtree(layers, ignore_errors=True)
    return Pruned(report, before, after)


def pattern(text: str | None) -> tuple[int, int] | None:
    """N:M as two integers."""
    if text is None:
        return None
    keep, _, group = text.partition(":")
    if not (keep.isdecimal() and group.isdecimal()):
        raise InputError(f"pattern = {text!r}: must be N:M, like 2:4")
    return int(keep), int(group)
