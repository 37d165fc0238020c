"""Pruning from a checkpoint folder and a text to a pruned checkpoint folder."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.llama import checkpoint, model, pruning, storage, tensors, text
from jaxtheory.llama.config import Config, notice_length
from jaxtheory.ops import draws
from jaxtheory.texts.errors import InputError


class Pruned(NamedTuple):
    """The report of `prune` with the perplexity on held-out windows before and after."""

    report: xr.Dataset
    before: float
    after: float


def prune_checkpoint(
    source: str | Path,
    to: str | Path,
    corpus: str | Path,
    *,
    samples: int = 8,
    window: int = 128,
    evaluate: int = 128,
    eval_text: str | Path | None = None,
    stride: int | None = None,
    eval_windows: int | None = None,
    sizes: bool = False,
    key: int = 0,
    progress: Callable[[str, int, int, float | None], Any] | None = None,
    **methods: Any,
) -> Pruned:
    """Prune the checkpoint in `source` on windows of a text and write it to `to`.

    The tokenizer and other files that transformers needs are copied. All arguments are checked
    before a weight is read. Finished layers are kept beside `to` until the end, so that the same
    call resumes an interrupted one. A window of more tokens than max_position_embeddings of the
    model gives a warning.

    Args:
        source: The checkpoint to prune.
        to: The folder of the pruned checkpoint, which must be empty or not exist yet.
        corpus: A UTF-8 file or a folder of such files.
        samples: The number of calibration windows.
        window: The number of tokens per window.
        evaluate: The largest number of windows, from the last fifth of the text, on which the
            perplexity and the held-out error are measured.
        eval_text: Another UTF-8 file or folder, on which the perplexity and the bits per byte are
            measured in the windows of `text.scored_windows`; None: nothing more is measured.
        stride: S in [1, window]: windows of `eval_text` start S tokens apart, and the last S
            tokens of each are scored. None: `window`, so that windows do not overlap.
        eval_windows: The number of windows from the start of `eval_text`; None: the whole text.
        sizes: True also measures the bytes of the weights before and after in the formats of
            `jaxtheory.llama.stored_bytes`, which takes about a minute per GiB.
        key: The seed of the choice of calibration windows.
        progress: Called after each layer with ("layer", done, of, seconds left).
        **methods: The methods of `jaxtheory.llama.prune`.

    Returns:
        The report, and the perplexity before and after. With `eval_text` the report also has
        eval_perplexity and eval_bits_per_byte over "weights" (dense, pruned), and the numbers of
        scored tokens and of their UTF-8 bytes, eval_tokens and eval_bytes:

            eval_perplexity    = exp(sum of -log p over the scored tokens / eval_tokens)
            eval_bits_per_byte = sum of -log2 p over the scored tokens / eval_bytes

        With `sizes` the report also has stored_bytes over "weights" and "format".

    Raises:
        InputError: An argument is out of range, or a file cannot be read or written.
    """
    source, to, key = Path(source), Path(to), draws.number("key", key)
    checkpoint.require_free(to)
    config = checkpoint.read_config(source)
    tokens = text.encode(text.read_corpus(corpus), source)
    windows = text.windows(tokens, samples, window, evaluate, key)
    scored = _scored(eval_text, source, window, stride, eval_windows)
    try:
        for part in (*windows, *(() if scored is None else (scored.windows,))):
            model.check_tokens(part, config)
    except InputError as error:
        raise InputError(f"{source}: the tokenizer is not that of the model, {error}") from None
    _, config = tensors.find_weights(source, config)
    pruning.plan_pruning(config, samples, **methods)
    layers = to.with_name(f".{to.name}-layers")
    try:
        layers.mkdir(parents=True, exist_ok=True)  # fails here, before the work, if not writable
    except (OSError, ValueError) as error:
        raise InputError(f"{to}: cannot be written ({error})") from None
    weights, config = checkpoint.load(source)
    notice_length(window, config)
    quiet = replace(config, source="{}")  # one notice is enough
    before = model.perplexity(weights, windows.heldout, quiet)
    pruned, report = pruning.prune(
        weights,
        windows.calibration,
        quiet,
        heldout=windows.heldout,
        key=key,
        keep=layers,
        progress=progress,
        **methods,
    )
    after = model.perplexity(pruned, windows.heldout, quiet)
    if scored is not None:
        report = report.assign(_evaluation((weights, pruned), scored, quiet))
    if sizes:
        report = report.assign(_sizes((weights, pruned), config))
    checkpoint.save(to, pruned, config, like=source)
    shutil.rmtree(layers, ignore_errors=True)
    return Pruned(report, before, after)


def _scored(
    eval_text: str | Path | None,
    source: Path,
    window: int,
    stride: int | None,
    eval_windows: int | None,
) -> text.Scored | None:
    if eval_text is None:
        for name, value in (("stride", stride), ("eval_windows", eval_windows)):
            if value is not None:
                raise InputError(f"{name} = {value}: needs eval_text, a text to evaluate on")
        return None
    try:
        content = text.read_corpus(eval_text)
    except InputError as error:
        raise InputError(f"eval_text = {error}") from None
    return text.scored_windows(*text.encode_sizes(content, source), window, stride, eval_windows)


def _evaluation(
    pair: tuple[model.Weights, model.Weights], scored: text.Scored, config: Config
) -> xr.Dataset:
    count = len(scored.windows) * scored.last
    perplexities = [model.perplexity(w, scored.windows, config, last=scored.last) for w in pair]
    return xr.Dataset(
        {
            "eval_perplexity": ("weights", perplexities),
            "eval_bits_per_byte": ("weights", np.log2(perplexities) * count / scored.size),
            "eval_tokens": count,
            "eval_bytes": scored.size,
        },
        {"weights": ["dense", "pruned"]},
    )


def _sizes(pair: tuple[model.Weights, model.Weights], config: Config) -> xr.Dataset:
    byte_counts = [storage.stored_bytes(weights, config) for weights in pair]
    return xr.Dataset(
        {"stored_bytes": (("weights", "format"), [[*sizes.values()] for sizes in byte_counts])},
        {"weights": ["dense", "pruned"], "format": [*byte_counts[0]]},
    )


def pattern(text: str | None) -> tuple[int, int] | None:
    """Parse N:M as two integers."""
    if text is None:
        return None
    keep, _, group = text.partition(":")
    if not (keep.isdecimal() and group.isdecimal()):
        raise InputError(f"pattern = {text!r}: must be N:M, like 2:4")
    return int(keep), int(group)
