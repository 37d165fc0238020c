"""Shared parts of the figures of task_diversity: names, the quick form, and measures.

Of arXiv 2405.11751 the abstract, the formula of Result 1 and the authors' public code for linear
attention were read. Sizes are smaller here (d = 8 to 24 for d = 100).
"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory.theories.task_diversity import Config

THEORY = jaxtheory.theories.get("task_diversity")
PAPER = "arXiv 2405.11751"
ABSTRACT = f"{PAPER}, abstract"
N, K = "num_prompts", "num_tasks"

# The minimum is there at step 0.
SOLVED: dict[str, Any] = {
    "algorithm": "ridge",
    "steps": 0,
    "record": [0],
    "dtype": "float64",
    "buckets": "pad",
}
# Quick figures share sizes, hence a compilation per algorithm.
QUICK: dict[str, Any] = {
    "config": Config(dimension=4, length=4, num_prompts=60, num_tasks=6),
    "seeds": 3,
}


def theory(data: xr.Dataset, name: str, error: str = "icl_error") -> xr.DataArray:
    """An error of the theory, at the first record."""
    return data[f"predicted_{error}_{name}"].isel(step=0, drop=True)
