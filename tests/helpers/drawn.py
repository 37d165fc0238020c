"""Drawings of made-up runs, and the rows of their numbers."""

import numpy as np
import xarray as xr

from jaxtheory import plot

STEPS = np.array([0, 1, 2, 3])
COSINES = np.ones((8, 4))
COSINES[0] = [0.1, 0.2, 0.3, 0.4]


def runs(values, x="step", at=STEPS):
    """Values [seed, x]."""
    values = np.asarray(values, float)
    return xr.DataArray(values, {"seed": range(len(values)), x: at}, ["seed", x])


def table(values, columns=(1.0, 2.0), rows=(10.0, 20.0, 30.0)):
    """Values [y, x]."""
    return xr.DataArray(
        np.asarray(values, float), {"y": list(rows), "x": list(columns)}, ["y", "x"]
    )


def rows_of(figure, kind):
    return [row for row in plot.numbers(figure) if row["kind"] == kind]


def drawn(values, **options):
    """A figure with one series of values [seed, step]."""
    figure, ((ax,),) = plot.panels()
    plot.series(ax, values, "step", "cosine", **options)
    plot.finish(ax, "step t", "cosine", "one panel")
    return figure, ax
