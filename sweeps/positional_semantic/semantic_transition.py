"""Which minimum does the layer have, positional or semantic, and what is its test error?

Descent from both directions, at α = n/d samples per feature, d = 200; lines are the laws of the limit.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    interpretation,
    last,
)

from . import (
    ABSTRACT,
    DIMENSION,
    QUICK_DIMENSION,
    RATIO,
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

RATIOS = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0]


def lowest(data: xr.Dataset, ratio: float) -> xr.DataArray:
    """The semantic overlap less the positional one of the end with less energy."""
    gap = last(data.semantic) - last(data.positional)
    one, two = (gap.sel({START: start}, drop=True) for start in STARTS)
    lower = xr.where(energy_gap(last(data.energy)) < 0, one, two)
    return lower.sel({RATIO: ratio}, drop=True)


def baseline(data: xr.Dataset) -> xr.DataArray:
    """The error of the best constant matrix."""
    errors = data.predicted_test_error_baseline.isel(step=0, drop=True)
    return errors.sel({START: "semantic"}, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The test error and both overlaps against alpha, on their laws."""
    figure, ((errors, overlaps),) = plot.panels(2)
    laws = law().sel({RATIO: slice(None, max(RATIOS))})
    for i, start in enumerate(STARTS):
        plot.series(errors, at_end(data, "test_error", start), RATIO, start, color=i)
        plot.theory(errors, laws[RATIO], laws.test_error.sel({START: start}), "")
        plot.series(overlaps, at_end(data, start, start), RATIO, f"{start}, at its end", color=i)
        plot.theory(overlaps, laws[RATIO], laws[start].sel({START: start}), "")
    plot.reference(errors, None, float(baseline(data).mean()), "", says="constant matrix")
    plot.finish(errors, "α = n/d", "test error", "end of descent from", yscale="log")
    plot.finish(overlaps, "α = n/d", "cosine with p or Q*", "")
    return figure


FIGURE = Figure(
    name="semantic_transition",
    source="arXiv 2402.03902: positional and semantic minimum; derived: laws of both",
    finding=Finding(
        "The minimum is positional with few samples and semantic with many, with the test errors of the law",
        rests_on=("PS-1", "PS-2", "PS-3", "PS-5"),
    ),
    theory=THEORY,
    config=Config(dimension=DIMENSION),
    sweep={
        "zip": points(RATIOS, DIMENSION),
        "vary": {START: STARTS},
        "algorithm": "momentum",
        "dtype": "float32",
        "seeds": 12,
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
            "PS-1",
            origin=interpretation(ABSTRACT),
            statement="“this minimum corresponds to either a positional attention mechanism […] or a semantic attention mechanism” read as: at α = 1 the end with less energy has a cosine with p that exceeds that with Q* by at least 0.1.",
            measure=Measure(
                "semantic less positional overlap of the end with less energy, α = 1",
                lambda data: lowest(data, 1.0),
            ),
            bound=at_most(-0.1),
            why="The lower of two ends of descent stands for the global minimum.",
        ),
        Claim(
            "PS-2",
            origin=interpretation(ABSTRACT),
            statement="“an emergent phase transition from the former to the latter with increasing sample complexity” read as: at α = 4 the end with less energy has a cosine with Q* that exceeds that with p by at least 0.9.",
            measure=Measure(
                "semantic less positional overlap of the end with less energy, α = 4",
                lambda data: lowest(data, 4.0),
            ),
            bound=at_least(0.9),
            why="With PS-1 it puts the transition between α = 1 and 4.",
        ),
        Claim(
            "PS-3",
            origin=derived("derived: the semantic branch"),
            statement="From α = 1.5 on the test error of the semantic end is within a factor of 1.4 of the law, d = 200.",
            measure=Measure(
                "largest |log of the test error over the law|, semantic, α ≥ 1.5",
                lambda data: over_law(data, "test_error", "semantic", least=1.5),
            ),
            bound=at_most(float(np.log(1.4))),
            why="The law has no free constant, and single runs are compared with it.",
        ),
        Claim(
            "PS-4",
            origin=derived("derived: the semantic branch"),
            statement="From α = 1.5 on the cosine of the semantic end with Q* is within 8 % of the law, d = 200.",
            measure=Measure(
                "largest |log of the cosine over the law|, semantic, α ≥ 1.5",
                lambda data: over_law(data, "semantic", "semantic", least=1.5),
            ),
            bound=at_most(0.08),
            why="It is the share of the hidden direction that is found.",
        ),
        Claim(
            "PS-5",
            origin=derived("derived: the positional branch"),
            statement="At each α the test error of the positional end is within 16 % of the law, d = 200.",
            measure=Measure(
                "largest |log of the test error over the law|, positional",
                lambda data: over_law(data, "test_error", "positional"),
            ),
            bound=at_most(0.15),
            why="More samples hardly improve it: what positions tell is known early.",
        ),
        Claim(
            "PS-6",
            origin=interpretation(ABSTRACT),
            statement="“outperforms the latter using the semantic mechanism provided it has access to sufficient data” read as: at α = 4 the test error of the semantic end is at most 0.4 times that of the best constant matrix.",
            measure=Measure(
                "test error of the semantic end over the best constant matrix's, α = 4",
                lambda data: (at_end(data, "test_error", "semantic") / baseline(data)).sel(
                    {RATIO: 4.0}, drop=True
                ),
            ),
            bound=at_most(0.4),
            why="The baseline is the best of all linear positional layers, at any number of samples.",
        ),
        Claim(
            "PS-7",
            origin=derived("derived: α = 1.49 by the semantic branch"),
            statement="The test error of the semantic end falls below that of the best constant matrix between α = 1.25 and 1.9.",
            measure=Measure(
                "α at which the semantic end's test error is the constant matrix's",
                lambda data: level_ratio(at_end(data, "test_error", "semantic"), baseline(data)),
            ),
            bound=between(1.25, 1.9),
            why="Sufficient data becomes a number, and it is less than that of the transition.",
        ),
    ),
)
