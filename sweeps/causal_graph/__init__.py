"""Shared parts of the figures of causal_graph: names, the quick form, and measures.

Of arXiv 2402.14735 and arXiv 2402.11004 the abstracts and the settings of the printed figures were
read. Sizes are smaller here (S = 3 and T = 16 for S = 10 and T = 20), and learning rates are ours.
Thresholds come from runs on keys 100 and 101, widened. Comments say what was measured.
"""

from typing import Any

import xarray as xr

import jaxtheory

THEORY = jaxtheory.theories.get("causal_graph")
Config = THEORY.Config
GRADIENT = "arXiv 2402.14735"
PHASES = "arXiv 2402.11004"
S, T, P, ALPHA = "num_states", "length", "num_prompts", "concentration"

SMALL = Config(num_states=3, length=16, num_prompts=1000)
PLAIN: dict[str, Any] = {"dtype": "float32", "seeds": 8}
QUICK: dict[str, Any] = {"config": SMALL.replace(**{T: 8, P: 60}), "seeds": 4}


def lag(values: xr.DataArray, d: int) -> xr.DataArray:
    """The entry of a metric by lag."""
    return values.isel(lag=d, drop=True)


def level(data: xr.Dataset, name: str) -> xr.DataArray:
    """A level of the test loss, which does not depend on the step."""
    return data[f"predicted_test_loss_{name}"].isel(step=0, drop=True)
