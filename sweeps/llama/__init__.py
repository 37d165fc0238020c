"""Shared parts of the experiments on a Llama: model, calibration windows by seed, and cells.

Each cell is measured once.

The source prunes Llama 3.2-1B with C4. Here a small Llama is trained on the sources of Python's
standard library (`_training`), calibrated on 8 windows of 128 tokens and evaluated on 128 windows
of files it has not seen. Ratios, sizes and steps are ours, because the source's are lost. There are
three calibration seeds and one model, which decide nothing: the claims are examples, whose numbers
are shown and not judged.
"""

import itertools
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import llama
from jaxtheory.llama import Config, Weights

from ._corpus import corpus, evenly, windows
from ._training import CONFIG as CONFIG
from ._training import trained as trained

PAPER = "arXiv 2410.11261"
SAMPLES, WINDOW, EVALUATED = 8, 128, 128
SEEDS = 3
PUBLISHED = {  # Table 1 of the source: perplexity by MLP (rows) and attention (columns)
    "dense": {"sparsegpt": 14.269, "wanda": 14.912, "gradient": 13.885, "dense": 12.487},
    "wanda": {"sparsegpt": 26.074, "wanda": 30.426, "gradient": 24.427},
    "sparsegpt": {"sparsegpt": 36.641, "wanda": 45.435, "gradient": 34.946},
}


def calibration(key: int, seed: int, samples: int = SAMPLES, length: int = WINDOW) -> np.ndarray:
    """The calibration windows of a seed."""
    return windows(corpus().train, samples, length, key * 1000 + seed)


def evaluation(count: int = EVALUATED, length: int = WINDOW) -> np.ndarray:
    """The windows of held-out files."""
    return evenly(corpus().heldout, count, length)


def measured(
    folder: Path,
    axes: Mapping[str, list],
    measure: Callable[[dict[str, Any]], dict[str, Any]],
    progress: Any,
) -> xr.Dataset:
    """The dataset of the numbers measured in each cell of the product of the axes.

    measure(cell) returns {name: numbers}; lists are over layers. The numbers of a cell are stored
    in the folder and read from it if they are there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shape = tuple(len(values) for values in axes.values())
    rows, begun, computed = [], time.perf_counter(), 0
    for done, values in enumerate(itertools.product(*axes.values()), start=1):
        cell = dict(zip(axes, values, strict=True))
        file = folder / (re.sub(r"[^\w.=-]+", "_", "-".join(map(str, values))) + ".json")
        if not file.exists():
            file.with_suffix(".part").write_text(json.dumps(measure(cell)), encoding="utf-8")
            file.with_suffix(".part").replace(file)
            computed += 1
        rows.append(json.loads(file.read_text(encoding="utf-8")))
        if progress is not None:
            spent = time.perf_counter() - begun
            remaining = spent / computed * (math.prod(shape) - done) if computed else None
            progress("cell", done, math.prod(shape), remaining)
    data = {name: np.asarray([numbers[name] for numbers in rows]) for name in rows[0]}
    return xr.Dataset(
        {
            name: (
                (*axes, "layer")[: len(axes) + array.ndim - 1],
                array.reshape(shape + array.shape[1:]),
            )
            for name, array in data.items()
        },
        axes,
    )


def pruned(
    weights: Weights, config: Config, tokens: np.ndarray, heldout: np.ndarray, **methods: Any
) -> dict[str, Any]:
    """Perplexity, errors of the attention by layer and sparsity after `llama.prune`."""
    start = time.perf_counter()
    sparse_weights, report = llama.prune(weights, tokens, config, heldout=heldout, **methods)
    return {
        "perplexity": llama.perplexity(sparse_weights, heldout, config),
        "attention_error": report.attention_error.values.tolist(),
        "attention_error_heldout": report.attention_error_heldout.values.tolist(),
        "regularization": report.regularization.values.tolist(),
        "sparsity_of_model": float(report.sparsity_of_model),
        "seconds": time.perf_counter() - start,
    }


def excess(data: xr.Dataset) -> xr.DataArray:
    """Perplexity above that of the dense attention, the MLP pruned alike."""
    return data.perplexity - data.perplexity.sel(attention="dense")
