"""How sharply is the parent selected, by length N and dimension M of the encodings?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, exponent, interpretation, last

from . import FULL, ON_CIRCLE6, QUICK, TALK, THEOREM, M, N, P, end, right

RULES = {
    "M = N": lambda n: n,
    "M = 2 N": lambda n: 2 * n,
    "M = N^1.5 / 2": lambda n: round(n**1.5 / 2),
    "M = N^1.5": lambda n: round(n**1.5),
    "M = 4 N^1.5": lambda n: round(4 * n**1.5),
    "M = 1000": lambda n: 1000,
}


def cases(rules: list[str], lengths: list[int]) -> dict[str, list]:
    """A zip of every rule for M with every N."""
    pairs = [(rule, n, RULES[rule](n)) for rule in rules for n in lengths]
    return {
        "case": [f"{rule}, N = {n}" for rule, n, _ in pairs],
        N: [n for _, n, _ in pairs],
        M: [m for _, _, m in pairs],
    }


def of_rule(data: xr.Dataset, rule: str) -> xr.Dataset:
    """The cases of one rule, by N."""
    return data.isel(case=data.case.str.startswith(rule + ",")).swap_dims(case=N)


def sharpness(data: xr.Dataset) -> xr.DataArray:
    """-log(1 - attention on the parent) of the runs that select it.

    It is at most that of the smallest number (708; 87 in float32).
    """
    stray = last(data.stray_attention).where(right(data))
    return -xr.apply_ufunc(np.log, stray.clip(float(np.finfo(stray.dtype).tiny)))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Sharpness against N for long encodings, and for all against M / N; shares against M / N.

    The shares are those of seeds that select the parent.
    """
    figure, ((growing, collapsed, selected),) = plot.panels(3, title=end(data))
    lengths = np.unique(data[N])
    for color, p in enumerate(data[P].values):
        some = data.sel({P: p})
        longest = of_rule(
            some, "M = 4 N^1.5" if "M = 4 N^1.5, N = 97" in data.case else "M = N^1.5"
        )
        plot.series(growing, sharpness(longest), N, f"p = {p:g}", color=color)
    plot.theory(growing, lengths, lengths * 2.8, "2.8 N")
    for color, n in zip(plot.shades(len(lengths)), lengths, strict=True):
        some = data.isel({P: 0, "case": data[N].values == n})
        some = some.assign_coords(case=some[M].values / n).sortby("case").drop_duplicates("case")
        plot.series(collapsed, sharpness(some), "case", f"N = {n}", color=color)
        plot.series(selected, right(some), "case", f"N = {n}", color=color)
    names = "positions, N", "−log(1 − attention on the parent)"
    plot.finish(growing, *names, "M = 4 $N^{1.5}$", xscale="log", yscale="log")
    at, share = f"M / N (p = {data[P].values[0]:g})", "share of seeds that select the parent"
    plot.finish(collapsed, at, names[1], xscale="log", yscale="log", legend=False)
    plot.finish(selected, at, share, xscale="log", legend=False)
    selected.set_ylim(-0.03, 1.05)
    plot.legend_below(figure, collapsed)
    return figure


FIGURE = Figure(
    name="walk_lengths",
    source=f"{THEOREM}: 1 - attention on the parent = exp(-Omega(N)), with M = Omega(N^1.5)",
    finding=Finding(
        "With encodings of dimension 4N^1.5 and the parent selected, −log(1 − its attention) grows at least as N^0.75",
        rests_on=("RW-26",),
    ),
    **ON_CIRCLE6,
    sweep=FULL
    | {
        "zip": cases(list(RULES), [7, 13, 25, 49, 97]),
        "vary": {P: [0.5, 0.8]},
        "dtype": "float64",
    },
    quick=QUICK | {"zip": cases(["M = N^1.5"], [13, 25, 49, 101]), "vary": {P: [0.5]}},
    draw=draw,
    # measured on key 100, 16 seeds: exponents 0.91 (p = 0.5) and 0.96 (p = 0.8); share at M = N =
    # 97, p = 1/2: 0.56
    claims=(
        Claim(
            "RW-24",
            origin=interpretation(TALK, "theorem"),
            statement="“Under certain conditions”, read as M >= N^1.5: the parent is selected in three quarters of the settings with N from 7 to 97.",
            measure=Measure(
                "share of settings (N, M, p) with M ≥ N^1.5 that select the parent",
                lambda data: right(data.isel(case=data[M] >= data[N] ** 1.5 - 0.5)).mean(),
            ),
            bound=at_least(0.75),
            panel=-1,
            why="The talk leaves out its conditions; this one is enough.",
        ),
        Claim(
            "RW-26",
            origin=interpretation(TALK, "theorem: exp(-Omega(N))"),
            statement="At M = 4 N^1.5, 1 - exp(-Omega(N)), read as: -log(1 - attention on the parent) grows with N with an exponent of at least 0.75 (mean over p = 1/2 and 0.8).",
            measure=Measure(
                "exponent of −log(1 − parent attention) in N, M = 4 N^1.5, mean over p",
                lambda data: exponent(sharpness(of_rule(data, "M = 4 N^1.5")), N).mean(),
            ),
            bound=at_least(0.75),
            why="It is the theorem's rate: longer sequences give exponentially sharper attention.",
        ),
    ),
)
