"""Has a prompt to hold sqrt(d) log d examples for the layer to be trained?

On the exact population: no seeds.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived
from jaxtheory.theories.nearest_neighbor import Config

from . import ETA, EXACT, LOG, PAPER, THEORY, D, N, course, late_slope, started


def below(data: xr.Dataset) -> xr.DataArray:
    """True where N < sqrt(d) log d."""
    return data[N] / (data[D] ** 0.5 * np.log(data[D])) < 1


def short(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values where N < sqrt(d) log d."""
    cells = [N, "dim"]
    return values.stack(cell=cells).where(below(data).stack(cell=cells), drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss in t for one d; the late exponent over d and N."""
    figure, ((losses, slopes),) = plot.panels(
        2, title="Infinitely many prompts, η = d, σ = 8", width=3.6, height=3.2
    )
    data = data.isel(seed=0)
    late = started(data).isel(dim=-1)
    for color, n in zip(plot.shades(data.sizes[N]), data[N].values, strict=True):
        runs = late.sel({N: n})
        law = runs.predicted_loss_law.where(runs.step >= 20)
        course(losses, 2 * runs.population_loss, f"N = {n}", color, 2 * law)
    plot.finish(losses, "step t", "2 L", f"d = {int(data[D][-1])}", **LOG)
    plot.heat(slopes, late_slope(data.population_loss), N, "dim", label="exponent of t")
    plot.finish(slopes, "examples in a prompt, N", "dimension d")
    plot.boundary(slopes, below(data), N, "dim", "left of it N < √d log d")
    plot.remark(figure, "Dashed, left: near ties.")
    return figure


FIGURE = Figure(
    name="neighbor_context",
    source=f"{PAPER}, theorem: N = Omega(sqrt(d) log d)",
    finding=Finding(
        "With fewer than √d log d examples in a prompt the late loss still falls at least as t^−0.28 (d = 8 to 32)",
        rests_on=("NN-16",),
    ),
    theory=THEORY,
    config=Config(num_prompts=100, num_test=100, mask=8.0),
    sweep=EXACT
    | {
        "zip": {"dim": [3, 8, 16, 32], D: [3, 8, 16, 32], ETA: [3.0, 8.0, 16.0, 32.0]},
        "vary": {N: [2, 4, 8, 16, 32]},
        "steps": 1000,
        "record": [0, 1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1000],
        "buckets": "pad",
    },
    quick={"vary": {N: [4, 8]}, "zip": {"dim": [3, 8], D: [3, 8], ETA: [3.0, 8.0]}},
    draw=draw,
    claims=(
        Claim(
            "NN-16",
            origin=derived(),
            statement="With fewer than sqrt(d) log d examples in a prompt the loss falls as a power of t, too: its exponent from t = 500 on is between -0.65 and -0.28.",
            measure=Measure(
                "exponent of the loss in t, t = 500 to 1000, each N < √d log d",
                lambda data: short(data, late_slope(data.population_loss)),
            ),
            bound=between(-0.65, -0.28),
            exact=True,
            why="The condition on N is sufficient only: shorter prompts are learned at the same kind of rate.",
        ),
    ),
)
