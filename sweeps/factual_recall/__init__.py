"""Shared parts of the figures of factual_recall: names, laws as observables, and times of falls.

Of arXiv 2412.06538 the abstract was read, and a summary by others. Bounds come from runs on keys 100 and 101, widened.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

import jaxtheory
from jaxtheory.claims import crossing
from jaxtheory.theories.factual_recall import laws, model

THEORY = jaxtheory.theories.get("factual_recall")
Config = THEORY.Config
PAPER = "arXiv 2412.06538"
ABSTRACT = f"{PAPER}, abstract"
S, R, D, N, ALPHA = "num_subjects", "num_relations", "num_answers", "num_noise", "init_scale"

NOISELESS = Config(num_noise=1, length=2, num_draws=1)
QUICK: dict[str, Any] = {
    "config": NOISELESS.replace(num_subjects=4, num_relations=2, num_answers=3),
    "seeds": 4,
}


def relation_time(
    _params: model.Params, problem: model.Problem, config: model.Config
) -> Float[Array, ""]:
    """The law of the mean time of relations, over log(1/alpha)."""
    return jnp.mean(law(problem, config).relation)


def subject_times(
    _params: model.Params, problem: model.Problem, config: model.Config
) -> Float[Array, " S"]:
    """The law of the time of each subject, over log(1/alpha)."""
    return law(problem, config).subject


def law(problem: model.Problem, config: model.Config) -> laws.Times:
    """The times of relations and subjects, in units of eta times the steps."""
    return laws.times(laws.drives(problem.train, config), config)


OBSERVED: dict[str, Any] = {
    "observe": {"relation_time": relation_time, "subject_times": subject_times},
    "dims": {"subject_times": ("subject",)},
}


def records(steps: int, count: int) -> list[int]:
    """Steps from 0 on whose logarithms are evenly spaced."""
    return [0, *sorted({round(t) for t in np.geomspace(1, steps, count)})]


def level(data: xr.Dataset, name: str, of: str = "loss") -> xr.DataArray:
    """A level, which does not depend on the step."""
    return data[f"predicted_{of}_{name}"].isel(step=0, drop=True)


def fall(data: xr.Dataset, height: xr.DataArray) -> xr.DataArray:
    """The step at which the loss falls through a height."""
    return crossing(data.loss - height, 0.0)
