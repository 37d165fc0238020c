"""Which entries of mu_i^T Delta W mu_j depend on the number M of patterns, and how?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, exponent, interpretation
from jaxtheory.theories.low_rank import S1

from . import PAPER, SETTINGS, Measure, only, panels, pick, runs, worst
from .neurons_dictionary import DICTIONARIES
from .rank_projections import parts

NAMES, COUNTS = ("P1", "G"), DICTIONARIES["num_patterns"]
TWO = pick(SETTINGS, 2, 4)
CELLS: dict[str, list] = {
    "cell": [f"{name}, M = {M}" for name in NAMES for M in COUNTS],
    **{
        word: [v for v in values for _ in COUNTS]
        for word, values in TWO.items()
        if word != "setting"
    },
    **{word: 2 * values for word, values in DICTIONARIES.items()},
}
BLOCKS = {
    ("WQ", "relevant_diagonal"): "relevant diagonal of $W_Q$",
    ("WQ", "irrelevant_columns"): "(8): irrelevant columns of $W_Q$",
    ("WV", "relevant_diagonal"): "(9): relevant diagonal of $W_V$",
    ("WV", "irrelevant_diagonal"): "(10): irrelevant diagonal of $W_V$",
}


def block(data: xr.Dataset, setting: str, matrix: str, name: str) -> xr.DataArray:
    """A mean block over M in a setting."""
    found = parts(data.projections.sel(projection=matrix))[name]
    cells = [cell for cell in data.cell.values if str(cell).startswith(setting)]
    some = found.sel(cell=cells)
    return some.assign_coords(cell=some.num_patterns.values).rename(cell="M")


def power(setting: str, matrix: str, name: str) -> Measure:
    """The exponent of M in a block that is positive."""
    return lambda data: exponent(
        (means := block(data, setting, matrix, name).mean("seed", skipna=False)).where(means > 0),
        "M",
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Four blocks against M, with 1 / M."""
    figure, axes = panels(
        len(BLOCKS), "The blocks of theorem 1 against the number M of patterns", width=3.4
    )
    names = [n for n in NAMES if any(str(cell).startswith(n) for cell in data.cell.values)]
    for ax, ((matrix, name), label) in zip(axes, BLOCKS.items(), strict=True):
        for color, setting in enumerate(names):
            values = block(data, setting, matrix, name)
            M, above = values.M.values, values.where(values.mean("seed") > 0)
            fitted = f"{setting}, {plot.slope_label(above, 'M')}"
            plot.series(ax, above, "M", fitted, color=color)
            law = abs(float(values.mean("seed")[0])) * M[0] / M
            plot.theory(ax, M, law, "" if color else "∝ 1/M", color=color)
        plot.finish(ax, "patterns M", label, xscale="log", yscale="log")
        plot.ticks(ax.xaxis, COUNTS)
    return figure


FIGURE = Figure(
    name="rank_patterns",
    source=f"{PAPER}, theorem 1 over M",
    theory=only("projections"),
    config=S1,
    sweep=runs(160, zip=CELLS, record={"loss": [0, 150, 160]}, buckets="exact"),
    quick={"zip": pick(CELLS, 0, 1), "seeds": 2, "record": {"loss": [0, 160]}},
    draw=draw,
    claims=(
        Claim(
            "LR-34",
            origin=interpretation(PAPER, "(8)"),
            statement="(8), irrelevant columns of W_Q of Omega(1) in relevant rows, read as: they do not fall with M in P1: the exponent of M is at least -0.25.",
            measure=power("P1", "WQ", "irrelevant_columns"),
            bound=at_least(-0.25),
        ),
        Claim(
            "LR-39",
            origin=interpretation(PAPER, "(10)"),
            statement="(10), an irrelevant diagonal of W_V of at least Omega(1/M), read as: the exponent of M is at least -1.25, in G. It falls nearly as 1/M^2.",
            measure=power("G", "WV", "irrelevant_diagonal"),
            bound=at_least(-1.25),
            expect="fails",
        ),
        Claim(
            "LR-54",
            origin=interpretation(PAPER, "(9)"),
            statement="(9), a relevant diagonal of W_V of Omega(1), read as: the exponent of M is at least -0.25, in P1 and G.",
            measure=lambda data: worst(
                *(power(name, "WV", "relevant_diagonal")(data) for name in NAMES)
            ),
            bound=at_least(-0.25),
        ),
    ),
)
