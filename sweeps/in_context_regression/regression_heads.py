"""How many heads of rank 1 does the separate form need to learn all D components?

On infinitely many prompts, D = 4.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, last

from . import EXACT, ON_POPULATION, QUICK, SIGMA, THEORY, H, levels

HEADS = [1, 2, 3, 4, 6, 8]
SLOW = ON_POPULATION.replace(**{SIGMA: 0.02})


def level_of(data: xr.Dataset) -> xr.DataArray:
    """L_m for m = min(H, D)."""
    plateaus = levels(SLOW)
    counts = data[H].values
    return xr.DataArray(plateaus[np.minimum(counts, len(plateaus) - 1)], {H: counts}, [H])


def draw(data: xr.Dataset) -> plot.Drawing:
    """The number of components learned, and the loss, against the number of heads."""
    figure, ((components, losses),) = plot.panels(2)
    for i, t in enumerate(data.step.values[1:]):
        plot.series(components, data.learned.sel(step=t), H, f"t = {t}", color=i)
        plot.series(losses, data.loss.sel(step=t), H, f"t = {t}", color=i)
    counts = data[H].values
    plot.theory(components, counts, np.minimum(counts, 4), "min(H, D)")
    plot.theory(losses, counts, level_of(data).values, r"$L_m$, m = min(H, D)")
    plot.finish(components, "heads H", "components learned")
    plot.finish(losses, "heads H", "loss L")
    return figure


FIGURE = Figure(
    name="regression_heads",
    source="derived: number of heads",
    finding=Finding(
        "H = 1, 2, 3 heads of rank 1 learn the H largest components and stop, and 8 heads learn all four in 40000 steps",
        rests_on=("IR-9", "IR-11"),
    ),
    theory=THEORY,
    config=SLOW,
    sweep=EXACT
    | {"vary": {H: HEADS}, "seeds": 64, "steps": 40000, "record": [0, 10000, 20000, 40000]},
    quick=QUICK | {"vary": {H: [1, 2, 4, 8]}, "seeds": 8},
    draw=draw,
    claims=(
        Claim(
            "IR-9",
            origin=derived("derived: A has rank at most H"),
            statement="H < D heads of rank 1 end where the H largest components are learned: each run within 1e-3 of L_H, H = 1, 2, 3.",
            measure=Measure(
                "|loss at the end − L_H|, each H = 1, 2, 3",
                lambda data: abs(last(data.loss) - level_of(data)).sel({H: slice(None, 3)}),
            ),
            bound=at_most(1e-3),
            q=1,
            why="The staircase ends where the heads do, at a loss that is known.",
        ),
        Claim(
            "IR-10",
            origin=derived("measured: heads that share a component"),
            statement="D heads are slower than 2D in at least a quarter of the experiments: components that H = 8 heads have learned after 10000 steps, less those of H = 4.",
            measure=Measure(
                "components learned by H = 8 heads less those by H = 4, t = 10000",
                lambda data: data.learned.isel(step=1).sel({H: [4, 8]}).diff(H),
            ),
            bound=at_least(0.2),  # keys 100, 101: 0.5 to 0.7 on average
            q=0.25,
            why="Two heads may begin with the same component, which was not looked into.",
        ),
        Claim(
            "IR-11",
            origin=derived("measured: spare heads"),
            statement="With two heads per component, H = 8, each run learns all four components in 40000 steps.",
            measure=Measure(
                "components learned at the end with H = 8 heads, of D = 4",
                lambda data: last(data.learned).sel({H: 8}),
            ),
            bound=between(4, 4),
            q=1,
            panel=0,
            why="It tells how many heads an experiment with the staircase must have.",
        ),
    ),
)
