"""On which of the two minima does descent land from a random start?

Starts of norm c √d, c = 0.1, 1 and 3, with α = 1.5, 3 and 6, d = 128. The energies cross at α = 2.03.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last

from . import QUICK_DIMENSION, RATIO, START, THEORY, Config, law, points

RATIOS, SCALE, SCALES = [1.5, 3.0, 6.0], "init_scale", [0.1, 1.0, 3.0]
DIMENSION = 128


def lean(data: xr.Dataset) -> xr.DataArray:
    """The semantic overlap less the positional one at the end."""
    return last(data.semantic) - last(data.positional)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The share of semantic ends, and energies on both laws, against alpha."""
    figure, ((shares, energies),) = plot.panels(2)
    for i, scale in enumerate(data[SCALE].values):
        one = data.sel({SCALE: scale})
        plot.series(shares, (lean(one) > 0).astype(float), RATIO, f"c = {scale:g}", color=i)
        plot.series(energies, last(one.energy), RATIO, f"c = {scale:g}", color=i)
    laws = law().sel({RATIO: slice(min(RATIOS), max(RATIOS))})
    for start in laws[START].values:
        plot.theory(energies, laws[RATIO], laws.energy.sel({START: start}), "")
    plot.finish(shares, "α = n/d", "share of semantic ends", "")
    plot.finish(energies, "α = n/d", "energy L/d", "lines: both branches")
    return figure


FIGURE = Figure(
    name="semantic_start",
    source="measured: which minimum descent finds",
    finding=Finding(
        "From small random starts descent stays positional where the minimum has long been semantic",
        rests_on=("PS-12", "PS-13"),
    ),
    theory=THEORY,
    config=Config(dimension=DIMENSION),
    sweep={
        "zip": points(RATIOS, DIMENSION),
        "vary": {SCALE: SCALES},
        "algorithm": "momentum",
        "dtype": "float32",
        "seeds": 32,
        "steps": 600,
        "record": [0, 300, 600],
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
            "PS-12",
            origin=derived("measured: small random starts"),
            statement="From random starts with c = 0.1 the end at α = 6 has a cosine with p that exceeds that with Q* by at least 0.1.",
            measure=Measure(
                "semantic less positional overlap at the end, α = 6, c = 0.1",
                lambda data: lean(data).sel({RATIO: 6.0, SCALE: 0.1}, drop=True),
            ),
            bound=at_most(-0.1),
            why="The global minimum is semantic there: the transition is not one of descent.",
        ),
        Claim(
            "PS-13",
            origin=derived("measured: small random starts"),
            statement="From random starts with c = 0.1 the energy ends at least 1.7 times as high as the minimum's law at α = 6.",
            measure=Measure(
                "energy over the law of the semantic branch, α = 6, c = 0.1",
                lambda data: (
                    last(data.energy).sel({RATIO: 6.0, SCALE: 0.1}, drop=True)
                    / float(law().energy.sel({RATIO: 6.0, START: "semantic"}))
                ),
            ),
            bound=at_least(1.7),
            why="It says what is missed.",
        ),
        Claim(
            "PS-14",
            origin=derived("measured: large random starts"),
            statement="From random starts with c = 3 the end at α = 6 has a cosine with Q* that exceeds that with p by at least 0.5.",
            measure=Measure(
                "semantic less positional overlap at the end, α = 6, c = 3",
                lambda data: lean(data).sel({RATIO: 6.0, SCALE: 3.0}, drop=True),
            ),
            bound=at_least(0.5),
            why="The scale of the start decides which mechanism is found.",
        ),
    ),
)
