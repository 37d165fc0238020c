"""The accessor `data.jaxtheory` of datasets.

It is registered with xarray when this module is imported, which the modules that make and open
datasets do. JAX is imported when a run is read.
"""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import xarray as xr

if TYPE_CHECKING:
    from jaxtheory.core.theory import Theory

_Given: TypeAlias = "Theory | ModuleType | str | Path | None"


@xr.register_dataset_accessor("jaxtheory")
class Accessor:
    """Reader of single runs of a sweep from its dataset, as `data.jaxtheory`.

    Args:
        data: The dataset of a sweep, as `jaxtheory.sweep`, `jaxtheory.open_store` and
            `jaxtheory.merge` return it.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> config = random_walk.Config()
        >>> data = jaxtheory.sweep(
        ...     random_walk, config, vary={"p": [0.5, 0.7]}, seeds=2, steps=5, save_params=True
        ... )
        >>> data.jaxtheory.params(p=0.7, seed=1).u.shape
        (6,)
        >>> type(data.jaxtheory.problem(p=0.7, seed=1)).__name__
        'Problem'
    """

    def __init__(self, data: xr.Dataset) -> None:
        self._data = data

    def params(self, theory: _Given = None, *, step: int | None = None, **where: Any) -> Any:
        """Return the parameters of one run: `jaxtheory.load_params` of this dataset."""
        from jaxtheory.engine.stored_run import load_params

        return load_params(self._data, theory, step=step, **where)

    def problem(self, theory: _Given = None, **where: Any) -> Any:
        """Return the problem of one run: `jaxtheory.load_problem` of this dataset."""
        from jaxtheory.engine.stored_run import load_problem

        return load_problem(self._data, theory, **where)
