"""How many fixed points has training with merged and with separate keys and queries?

Zeros of the gradient in the weights on infinitely many prompts, which `_search` finds.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, between, derived, interpretation, last
from jaxtheory.theories.in_context_regression import laws

from . import ABSTRACT, D, H
from ._search import CONFIG, SEARCHED


def found(data: xr.Dataset, form: str) -> xr.DataArray:
    """The number of different A of zeros, for each D."""
    return last(data.found).sel(form=form, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The number of zeros against D with its law, and the losses of those with the largest D."""
    figure, ((counts, losses),) = plot.panels(2)
    sizes = data[D].values
    laws_of = {"separate": 2.0**sizes, "merged": np.full(len(sizes), 2.0)}
    for i, (form, law) in enumerate(laws_of.items()):
        plot.series(counts, found(data, form), D, form, color=i)
        plot.theory(counts, sizes, law, "", color=i, says="$2^D$ and 2")
    largest = last(data).isel({D: -1, "seed": 0}).sel(form="separate")
    losses.plot(largest.losses, ".", ms=3, color=plot.COLORS[0], label="zeros found")
    size = int(sizes[-1])
    _, gains = laws.shares(CONFIG.replace(**{D: size, H: size}))
    subsets = (np.arange(2**size)[:, None] >> np.arange(size)) % 2
    for level in 1 - subsets @ np.asarray(gains):
        plot.theory(losses, 0, level, "", says="$L_M$ of the subsets")
    plot.finish(counts, "features D", "different A at zeros of the gradient", yscale="log")
    plot.finish(losses, "starts by their loss", "loss at the zero", f"separate, D = {size}")
    plot.ticks(counts.xaxis, sizes)
    return figure


def settings(sizes: list[int]) -> dict[str, dict[str, list]]:
    """Both forms for each D; the separate form has D heads."""
    return {"zip": {D: sizes, H: sizes}, "vary": {"form": ["separate", "merged"]}}


FIGURE = Figure(
    name="regression_fixed_points",
    source=ABSTRACT,
    finding=Finding(
        "A search finds the 2^D fixed points of separate keys and queries, D = 1 to 4, and the two of merged ones",
        rests_on=("IR-21", "IR-22", "IR-23"),
    ),
    theory=SEARCHED,
    config=CONFIG,
    sweep={
        **settings([1, 2, 3, 4]),
        "seeds": 64,
        "steps": 100,
        "record": [0, 100],
        "dtype": "float64",
        "buckets": "exact",
    },
    quick={**settings([2]), "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "IR-21",
            origin=interpretation(ABSTRACT),
            statement="In the merged form “the training dynamics has two fixed points”, read as two matrices A at which the gradient in the weights vanishes: each search from 300 starts finds two, for D = 1 to 4.",
            measure=Measure(
                "different A at zeros of the gradient, merged form, each D",
                lambda data: found(data, "merged"),
            ),
            bound=between(2, 2),
            law=2.0,
            q=1,
            why="Between the start and the minimum there is nothing to pause at.",
        ),
        Claim(
            "IR-22",
            origin=interpretation(ABSTRACT),
            statement="In the separate form “the training dynamics has exponentially many fixed points”, read as 2^D matrices A at which the gradient in the weights vanishes: the typical search from 300 starts finds 2^D, with D heads of rank 1 and D = 1 to 4.",
            measure=Measure(
                "different A at zeros of the gradient over 2^D, separate form, each D",
                lambda data: found(data, "separate") / 2.0 ** data[D],
            ),
            bound=between(1, 1),
            law=1.0,
            why="A run passes near some of these points, mostly those whose components are the first m.",
        ),
        Claim(
            "IR-23",
            origin=derived("derived: the zeros of the gradient in the weights"),
            statement="At each zero of the gradient that a search finds, A is that of a subset of components, A_dd^* on the diagonal for those in it and 0 elsewhere, within 1e-6 of the largest A_dd^*, for both forms and D = 1 to 4.",
            measure=Measure(
                "largest |A − A of the nearest subset| at zeros, each form and D",
                lambda data: last(data.distance),
            ),
            bound=at_most(1e-6),
            q=1,
            why="A staircase can pause only where some components are learned and the others are not.",
        ),
        Claim(
            "IR-24",
            origin=derived("derived: the loss at a subset of components"),
            statement="At each zero of the gradient that a search finds, the loss is within 1e-9 of tr Λ less λ_d² A_dd^* for each component d that is learned there, for both forms and D = 1 to 4.",
            measure=Measure(
                "largest |loss − L_M| of the nearest subset M at zeros, each form and D",
                lambda data: last(data.gap),
            ),
            bound=at_most(1e-9),
            q=1,
            why="Each pause has a height that is known before training.",
        ),
    ),
)
