"""What is exact without noise: sums over columns, and the rank of the first step?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_most, derived
from jaxtheory.theories.low_rank import S1

from . import BOTH, lines, only, panels, pick, runs


def column_sums(data: xr.Dataset) -> xr.DataArray:
    """max_i |sum_j mu_i^T Delta W_K mu_j| over the largest entry."""
    P = data.projections.sel(projection="WK")
    return (abs(P.sum("pattern")).max("left") / abs(P).max(["left", "pattern"])).fillna(np.inf)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Singular values of all four changes after one step and at the end; the table of W_K's
    projections.
    """
    settings = [str(s) for s in data.setting.values]
    figure, axes = panels(
        len(settings) + 1,
        "Without noise the first step has a small rank, and rows sum to zero",
    )
    s = data.singular_values.sel(step=1).isel(seed=[0], index=slice(0, 8)) + 1e-12
    for ax, setting in zip(axes, settings, strict=False):
        lines(ax, s.sel(setting=setting), "index", "matrix")
        plot.finish(ax, "index", "singular value at t = 1", f"{setting}, seed 0", yscale="log")
    P, ax = data.projections.sel(setting=settings[-1], projection="WK").mean("seed"), axes[-1]
    picture = ax.imshow(np.sign(P) * np.sqrt(abs(P)), cmap="RdBu_r", vmin=-1, vmax=1)
    plot.color_bar(ax, picture, r"signed $\sqrt{|\mu_i^\top \Delta W_K \mu_j|}$")
    ax.grid(False)
    plot.finish(ax, "pattern j", "pattern i", f"{settings[-1]}: rows sum to zero", legend=False)
    ax.set_xticks(range(0, P.shape[1], 5))
    ax.set_yticks(range(0, P.shape[0], 5))
    return figure


FIGURE = Figure(
    name="rank_noiseless",
    source="derived: column sums, first step",
    theory=only("projections"),
    config=S1.replace(noise=0.0),
    sweep=runs(60, zip=BOTH, record=[0, 1, 60], dtype="float64"),
    quick={"zip": pick(BOTH, 0), "seeds": 2, "steps": 20, "record": [0, 1, 20]},
    draw=draw,
    claims=(
        Claim(
            "LR-45",
            origin=derived(),
            statement="Without noise every row of mu_i^T Delta W_K mu_j sums to zero: irrelevant keys compensate for the relevant ones, in contrast to (8).",
            measure=column_sums,
            bound=at_most(1e-10),
            statistic="each",
            minimum=2,
            why="It is an identity of the softmax that no choice of constants in (8) can satisfy for W_K.",
        ),
    ),
)
