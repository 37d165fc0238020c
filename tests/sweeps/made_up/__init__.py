"""Made-up results of figures, a module per theory: cases in which each claim is seen to hold and to
fail.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory.engine import plan as planning
from jaxtheory.engine.boundary import read_boundary
from jaxtheory.engine.compute.part import own_shapes
from jaxtheory.engine.request.request import read, read_schedule
from jaxtheory.engine.results.dataset import describe, grid_of, title_and_dims


class Case(NamedTuple):
    """Made-up results of a figure, and which of its claims hold on them.

    make(table(figure)) -> {metric: values that broadcast with the table's `one`}, or the whole
    dataset;
    holds: the numbers of the claims that hold; all others of the figure fail. n: the seeds behind a
    claim, by its number, where a case is about them (else: at least the claim's minimum). drawn:
    whether the figure can be drawn from what `make` makes of its quick table.
    """

    figure: str
    make: Callable[[Any], dict[str, Any] | xr.Dataset]
    holds: str
    n: dict[str, int] = {}  # noqa: RUF012  (an immutable default of a NamedTuple)
    drawn: bool = False

    def data(self, quick: bool = False) -> xr.Dataset:
        """The dataset it makes; of an experiment from its arguments alone."""
        if get(self.figure).experiment:
            return self.make(jaxtheory.claims.arguments(get(self.figure), quick)[1])
        blank = table(self.figure, quick)
        metrics = self.make(blank)
        return (
            metrics
            if isinstance(metrics, xr.Dataset)
            else blank.assign({name: blank.one * values for name, values in metrics.items()})
        )


get = functools.cache(jaxtheory.figures.get)


@functools.cache
def plan(name: str, quick: bool = False) -> Any:
    """The plan of a figure's sweep, or of a round of its search for boundaries."""
    figure = get(name)
    config, options = jaxtheory.claims.arguments(figure, quick)
    if figure.verb is jaxtheory.boundary:
        return planning.plan_request(read_boundary(figure.theory, config, **options).request)
    return planning.plan_request(read(figure.theory, config, **options))


def boundary_data(blank: xr.Dataset, boundary: Any, **laws: Any) -> xr.Dataset:
    """The result of a search for boundaries: the property holds below the boundary."""
    field = blank.attrs["along"]
    variables = {name: blank.one * value for name, value in {"boundary": boundary, **laws}.items()}
    holds = (blank[field] < variables["boundary"].fillna(float("inf"))).transpose(..., field)
    details = {"crossings": blank.one.astype(int), "first": holds.isel({field: 0}, drop=True)}
    return blank.drop_vars("one").assign(variables | details | {"holds": holds})


def table(name: str, quick: bool = False) -> xr.Dataset:
    """A dataset with all coordinates of a figure's, and `one`: 1 on its axes, seeds and steps,
    which has the shape of a metric. For a search for boundaries `one` has no steps, and the field
    along which they are is a coordinate.
    """
    figure = get(name)
    config, options = jaxtheory.claims.arguments(figure, quick)
    axes = plan(name, quick).axes
    if figure.verb is jaxtheory.boundary:
        coords = {a.name: list(a.labels) for a in axes} | {"seed": list(plan(name, quick).seeds)}
        shape = [len(coords[dim]) for dim in (*(a.name for a in axes[:-1]), "seed")]
        one = xr.DataArray(np.ones(shape), dims=(*(a.name for a in axes[:-1]), "seed"))
        described = {"along": axes[-1].name, "scale": options.get("scale", "log")}
        return one.to_dataset(name="one").assign_coords(coords).assign_attrs(described)
    steps = read_schedule(options["record"], [options["steps"]]).records.astype(int)
    coords = {a.name: list(a.labels) for a in axes} | {
        "seed": list(plan(name, quick).seeds),
        "step": steps,
    }
    one = xr.DataArray(1.0, coords, [*(a.name for a in axes), "seed", "step"])
    companions = {
        word: (a.name, list(v)) for a in axes for word, v in a.values.items() if word != a.name
    }
    settings = [
        {word: v[i] for word, v in a.values.items() if hasattr(config, word)}
        for a in axes
        for i in range(len(a.labels))
    ]
    inner: dict[str, Any] = {}  # labels inside a metric, as many as any setting has
    for values in settings or [{}]:
        inner |= {
            dim: list(v)
            for dim, v in figure.theory.coords(config.replace(**values)).items()
            if len(v) > len(inner.get(dim, ()))
        }
    return one.to_dataset(name="one").assign_coords(companions | inner)


def measured(name: str) -> xr.Dataset:
    """The quick table of a figure's sweep with all that its theory measures and predicts: positive
    numbers, which fall along steps and rows. Nothing is computed.
    """
    figure, blank = get(name), table(name, quick=True)
    config, options = jaxtheory.claims.arguments(figure, quick=True)
    request = read(figure.theory, config, **options)
    algorithm = plan(name, quick=True).buckets[0].algorithm
    described = describe(request, {"problem": ""})
    variables = {"diverged_at": xr.full_like(blank.one.isel(step=0, drop=True), -1, dtype=int)}
    with jax.numpy_dtype_promotion("standard"):
        shapes = own_shapes(request, algorithm, 0)
    for word, shape in shapes.items():
        stepped = word.partition("/")[0] in ("metric", "predicted")
        title, dims = title_and_dims(grid_of(request), described, word, len(shape) + stepped)
        own_dims = dims[len(dims) - len(shape) :]
        inner = {dim: blank.sizes.get(dim, n) for dim, n in zip(own_dims, shape, strict=True)}
        falling = 0.9 / (1 + sum(np.indices(tuple(inner.values()))) / 4 if inner else 1)
        own = xr.DataArray(falling, dims=tuple(inner)) * blank.one / (1 + blank.seed / 99)
        variables[title] = own / (1 + blank.step / 50) if stepped else own.isel(step=-1, drop=True)
    return blank.assign(variables)
