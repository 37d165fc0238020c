"""From how many samples on has the semantic minimum less energy than the positional one?

Energies at the end of descent from both directions, for |p| = ρ = 1.5, 2 and 3, d = 256.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last

from . import (
    QUICK_DIMENSION,
    RATIO,
    RHO,
    START,
    STARTS,
    THEORY,
    Config,
    at_end,
    energy_gap,
    law,
    level_ratio,
    over_law,
    points,
)

RATIOS, NORMS = [1.25, 1.5, 2.0, 2.5, 3.0], [1.5, 2.0, 3.0]
DIMENSION = 256


def critical(data: xr.Dataset) -> xr.DataArray:
    """The alpha from which on the semantic end has less energy, by rho."""
    return level_ratio(energy_gap(last(data.energy)), 0.0)


def critical_law() -> xr.DataArray:
    """The same of the law."""
    values = [float(level_ratio(energy_gap(law(rho).energy), 0.0)) for rho in NORMS]
    return xr.DataArray(values, {RHO: NORMS}, (RHO,))


def of_all(data: xr.Dataset, start: str) -> xr.DataArray:
    """The largest |log of the energy over the law| among rho and alpha."""
    each = [over_law(data.sel({RHO: rho}, drop=True), "energy", start, rho) for rho in NORMS]
    return xr.concat(each, RHO).max(RHO)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The energies of both ends for one rho, and the transition against rho."""
    figure, ((energies, border),) = plot.panels(2)
    one, laws = data.sel({RHO: 2.0}), law().sel({RATIO: slice(min(RATIOS), max(RATIOS))})
    for i, start in enumerate(STARTS):
        plot.series(energies, at_end(one, "energy", start), RATIO, start, color=i)
        plot.theory(energies, laws[RATIO], laws.energy.sel({START: start}), "")
    plot.finish(energies, "α = n/d", "energy L/d", "end of descent from, ρ = 2")
    plot.series(border, critical(data), RHO, "runs")
    plot.theory(border, NORMS, critical_law(), "law")
    plot.finish(border, "norm ρ of the position", "α of equal energies", "")
    return figure


FIGURE = Figure(
    name="semantic_energy",
    source="arXiv 2402.03902: the transition of the global minimum; derived: energies of both branches",
    finding=Finding(
        "The energies of both minima are those of the law, and cross where the law says, later for larger positions",
        rests_on=("PS-8", "PS-9", "PS-10"),
    ),
    theory=THEORY,
    config=Config(dimension=DIMENSION, init_scale=0.5, learning_rate=0.2),
    sweep={
        "zip": points(RATIOS, DIMENSION),
        "vary": {START: STARTS, RHO: NORMS},
        "algorithm": "momentum",
        "dtype": "float32",
        "seeds": 16,
        "steps": 400,
        "record": [0, 200, 400],
        "buckets": "exact",
    },
    quick={
        "config": Config(dimension=QUICK_DIMENSION),
        "zip": points(RATIOS, QUICK_DIMENSION),
        "seeds": 4,
        "steps": 60,
        "record": [0, 60],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "PS-8",
            origin=derived("derived: the energy of the semantic branch"),
            statement="The energy of the semantic end is within 12 % of the law at each α and ρ, d = 256.",
            measure=Measure(
                "largest |log of the energy over the law|, semantic",
                lambda data: of_all(data, "semantic"),
            ),
            bound=at_most(0.12),
            why="It is the law of a minimum of a loss that is not convex.",
        ),
        Claim(
            "PS-9",
            origin=derived("derived: the energy of the positional branch"),
            statement="The energy of the positional end is within a factor of 1.4 of the law at each α and ρ, d = 256.",
            measure=Measure(
                "largest |log of the energy over the law|, positional",
                lambda data: of_all(data, "positional"),
            ),
            bound=at_most(float(np.log(1.4))),
            why="It fluctuates more than the other, as what it leaves of the labels does.",
        ),
        Claim(
            "PS-10",
            origin=derived("derived: α = 1.73, 2.03, 2.30 for ρ = 1.5, 2, 3"),
            statement="The energies of both ends are equal at an α within a factor of 1.3 of the law for each ρ.",
            measure=Measure(
                "largest |log of the α of equal energies over the law| among ρ",
                lambda data: abs(xr.ufuncs.log(critical(data) / critical_law())).max(
                    RHO, skipna=False
                ),
            ),
            bound=at_most(float(np.log(1.3))),
            why="This is the transition of the global minimum, by law and in single networks.",
        ),
        Claim(
            "PS-11",
            origin=derived("derived: a larger position costs less penalty"),
            statement="The α of equal energies is larger for ρ = 3 than for ρ = 1.5 by at least 0.3.",
            measure=Measure(
                "α of equal energies, ρ = 3 less ρ = 1.5",
                lambda data: (
                    critical(data).sel({RHO: 3.0}, drop=True)
                    - critical(data).sel({RHO: 1.5}, drop=True)
                ),
            ),
            bound=at_least(0.3),
            why="The law says 0.57: the strength of positions shifts the transition.",
        ),
    ),
)
