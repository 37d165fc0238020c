"""Theorem 1 of arXiv 2406.17167 entry by entry: projections of the changes on the patterns, their growth, and what holds without noise.

P_ij = mu_i^T Delta W mu_j, mean over the runs; patterns 1 and 2 are relevant. The theorem's constants are not given, so ratios are claimed.
"""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Figure, Verdict, plot, verdicts
from jaxtheory.theories.low_rank import Config

MAIN = jaxtheory.theories.load(Path(__file__).with_name("low_rank.py"))
PAPER, claim = MAIN.PAPER, MAIN.claim
RELEVANT = 2


def parts(data: xr.Dataset) -> xr.Dataset:
    """Means over blocks of P: relevant diagonal and cross terms, irrelevant rows on relevant columns and the other way round, the rest.

    cross_size and rows_size are means of sizes.
    """
    P = data.projections
    n = P.sizes["pattern"]
    i, j = xr.DataArray(np.arange(n), dims="left"), xr.DataArray(np.arange(n), dims="pattern")
    block = lambda chosen: P.where(chosen).mean(["left", "pattern"])  # noqa: E731
    return xr.Dataset(
        {
            "diagonal": block((i == j) & (i < RELEVANT)),
            "cross": block((i != j) & (i < RELEVANT) & (j < RELEVANT)),
            "cross_size": abs(P).where((i != j) & (i < RELEVANT) & (j < RELEVANT)).mean(["left", "pattern"]),
            "irrelevant_rows": block((i >= RELEVANT) & (j < RELEVANT)),
            "rows_size": abs(P).where((i >= RELEVANT) & (j < RELEVANT)).mean(["left", "pattern"]),
            "irrelevant_columns": block((i < RELEVANT) & (j >= RELEVANT)),
            "irrelevant_diagonal": block((i == j) & (i >= RELEVANT)),
        }
    )


def part(data: xr.Dataset, setting: str, matrix: str, name: str) -> xr.DataArray:
    """One mean block, per seed."""
    return parts(data)[name].sel(setting=setting, projection=matrix, drop=True)


def mean_ratio(a: xr.DataArray, b: xr.DataArray, most: float) -> Verdict:
    """|mean a| / |mean b| over seeds is at most `most`."""
    measured = abs(float(a.mean())) / abs(float(b.mean()))
    return Verdict(measured <= most, measured, most, a.sizes["seed"])


def largest_off(data: xr.Dataset, setting: str, matrices: list[str]) -> Verdict:
    """(7): mean sizes of cross terms and irrelevant rows at most a tenth of the diagonal, a positive one, the worst of the matrices."""
    P = parts(data).sel(setting=setting, projection=matrices).mean("seed")
    off = float((np.maximum(P.cross_size, P.rows_size) / P.diagonal.where(P.diagonal > 0, 0)).max())
    return Verdict(off <= 0.1, off, 0.1, data.sizes["seed"])


def own_cosine(data: xr.Dataset, setting: str) -> xr.DataArray:
    """cos(o_i, mu of its class), mean over the neurons with |o_i| > .2; 0 without such."""
    d = data.sel(setting=setting)
    own = xr.where(d.neuron_class == 0, d.neuron_projections.isel(pattern=0), d.neuron_projections.isel(pattern=1))
    return (own / d.neuron_norms).where(d.neuron_norms > 0.2).mean("neuron").fillna(0)


def small_norm(data: xr.Dataset) -> xr.DataArray:
    """sqrt(m) times the mean norm of the smallest third of the neurons, in G."""
    norms = data.neuron_norms.sel(setting="G", drop=True)
    values = np.sort(norms.values, axis=-1)[:, : norms.sizes["neuron"] // 3].mean(axis=-1)
    return xr.DataArray(values * norms.sizes["neuron"] ** 0.5, dims="seed")


BLOCKS = {
    "diagonal": "relevant\ndiagonal",
    "cross": "relevant\ncross",
    "irrelevant_rows": "irrelevant\nrows",
    "irrelevant_columns": "irrelevant\ncolumns",
    "irrelevant_diagonal": "irrelevant\ndiagonal",
}


def draw_projections(data: xr.Dataset) -> plot.Drawing:
    """The mean blocks of each matrix, a bar for each setting."""
    figure, axes = plot.panels(
        3, title=rf"$\mu_i^\top \Delta W \mu_j$: means over blocks and {data.sizes['seed']} seeds", width=5.0, height=3.0
    )
    found = parts(data).mean("seed")
    width = 0.8 / data.sizes["setting"]
    for ax, matrix in zip(axes[0], data.projection.values, strict=True):
        for colour, setting in enumerate(data.setting.values):
            heights = [float(found[name].sel(setting=setting, projection=matrix)) for name in BLOCKS]
            ax.bar(np.arange(len(BLOCKS)) + colour * width, heights, width, color=plot.COLOURS[colour], label=str(setting))
        ax.axhline(0, color="#333333", linewidth=0.8)
        ax.set_xticks(np.arange(len(BLOCKS)) + 0.4, list(BLOCKS.values()), fontsize=8)
        plot.finish(ax, "", f"mean projection, {matrix}", yscale="symlog", legend=matrix == "WQ")
        ax.set_yscale("symlog", linthresh=0.01)
    return figure


PROJECTIONS = Figure(
    "rank_projections",
    f"{PAPER}, theorem 1",
    MAIN.only("projections", "neuron_norms", "neuron_class", "neuron_projections"),
    Config(),
    MAIN.FULL,
    MAIN.QUICK,
    (
        claim(
            31,
            f"{PAPER}, (7)",
            "S1: on relevant columns the diagonal of W_Q, W_K is at least 10 times the mean size of all else.",
            "holds",
            lambda d: largest_off(d, "S1", ["WQ", "WK"]),
        ),
        claim(32, f"{PAPER}, (7)", "P1: the same for W_K.", "refuted", lambda d: largest_off(d, "P1", ["WK"])),
        claim(
            33,
            f"{PAPER}, (7)",
            "P1p: the cross terms of W_Q are at most 0 on average, as the signed bound asks for.",
            "refuted",
            lambda d: verdicts.at_most(part(d, "P1p", "WQ", "cross"), 0.0),
        ),
        claim(
            34,
            f"{PAPER}, (8)",
            "Irrelevant columns point to relevant rows with at least 1, in W_Q of some setting.",
            "refuted",
            lambda d: MAIN.some_at_least(parts(d).irrelevant_columns.sel(projection="WQ"), 1.0),
        ),
        claim(
            35,
            f"{PAPER}, (8), its sign only",
            "In W_Q they do with a positive mean, in every setting.",
            "holds",
            lambda d: verdicts.at_least(parts(d).irrelevant_columns.sel(projection="WQ"), 1e-4),
        ),
        claim(
            36,
            f"{PAPER}, (8), its sign only",
            "In W_K as well, in some setting.",
            "refuted",
            lambda d: MAIN.some_at_least(parts(d).irrelevant_columns.sel(projection="WK"), 0.0),
        ),
        claim(
            37,
            f"{PAPER}, (9)",
            "S1: irrelevant rows of W_V are at most a tenth of the relevant diagonal, in size.",
            "refuted",
            lambda d: mean_ratio(part(d, "S1", "WV", "rows_size"), part(d, "S1", "WV", "diagonal"), 0.1),
        ),
        claim(
            38,
            f"{PAPER}, (9)",
            "G: they are.",
            "holds",
            lambda d: mean_ratio(part(d, "G", "WV", "rows_size"), part(d, "G", "WV", "diagonal"), 0.1),
        ),
        claim(
            39,
            f"{PAPER}, (10)",
            "G: the irrelevant diagonal of W_V is positive, .01 or more, and below 1/M = .05 on average.",
            "holds",
            lambda d: verdicts.mean_between(part(d, "G", "WV", "irrelevant_diagonal"), 0.01, 0.05),
        ),
        claim(
            40,
            f"{PAPER}, (11), (12)",
            "G: neurons of norm above .2 have a mean cosine of at least .8 with the pattern of their class.",
            "holds",
            lambda d: verdicts.at_least(own_cosine(d, "G"), 0.8),
        ),
        claim(
            41,
            f"{PAPER}, (11), (12)",
            "S1: so they have.",
            "refuted",
            lambda d: verdicts.at_least(own_cosine(d, "S1"), 0.8),
        ),
        claim(
            42,
            f"{PAPER}, (13) as printed",
            "G: small neurons, the smallest third, have a mean norm of at least 1 / sqrt(m).",
            "refuted",
            lambda d: verdicts.at_least(small_norm(d), 1.0),
        ),
        claim(
            43,
            f"{PAPER}, (13) read as an upper bound",
            "G: they have one of at most .8 / sqrt(m).",
            "holds",
            lambda d: verdicts.at_most(small_norm(d), 0.8),
        ),
    ),
    draw_projections,
)

# Growth of (7)


def diagonal(data: xr.Dataset) -> xr.DataArray:
    """The relevant diagonal of W_Q and W_K, per setting and number of steps."""
    return parts(data).diagonal.sel(projection=["WQ", "WK"])


def further(data: xr.Dataset, setting: str) -> xr.DataArray:
    """The diagonal after 240 steps over that after 120."""
    at = diagonal(data).sel(setting=setting, drop=True)
    return at.sel(steps=240) / at.sel(steps=120)


def draw_growth(data: xr.Dataset) -> plot.Drawing:
    """The relevant diagonal against the number of steps, with sqrt(log T) through the second."""
    figure, axes = plot.panels(data.sizes["setting"], title=f"Growth of (7), {data.sizes['seed']} seeds")
    for ax, setting in zip(axes[0], data.setting.values, strict=True):
        for colour, matrix in enumerate(("WQ", "WK")):
            values = diagonal(data).sel(setting=setting, projection=matrix)
            plot.series(ax, values, "steps", matrix, colour=colour)
            T = data.steps.values
            law = float(values.mean("seed").isel(steps=1)) * np.sqrt(np.log(T) / np.log(T[1]))
            plot.theory(ax, T, law, r"$\propto \sqrt{\log T}$" if colour == 0 else "", colour=colour)
        plot.finish(ax, "steps T", r"$\mu^\top \Delta W \mu$, relevant", str(setting), xscale="log")
    return figure


BOTH = {name: [values[0], values[2]] for name, values in MAIN.SETTINGS.items() if name != "steps"}
GROWTH = Figure(
    "rank_growth",
    f"{PAPER}, (7) along training",
    MAIN.only("projections"),
    Config(),
    {
        "zip": BOTH,
        "vary": {"steps": [60, 120, 240]},
        "seeds": 8,
        "steps": 240,
        "record": {"loss": [0, 60, 120, 240]},
        "dtype": "float32",
    },
    {
        "zip": {name: values[:1] for name, values in BOTH.items()},
        "vary": {"steps": [60, 120]},
        "seeds": 2,
        "record": {"loss": [0, 60, 120]},
    },
    (
        claim(
            44,
            f"{PAPER}, (7)",
            "P1: the relevant diagonal of W_Q, W_K goes on growing as sqrt(log T), from T = 120 to 240 by 1.5 % or more (law: 7 %).",
            "refuted",
            lambda d: verdicts.at_least(further(d, "P1"), 1.015),
        ),
        claim(
            88,
            f"{PAPER}, (7)",
            "S1: it does.",
            "holds",
            lambda d: verdicts.at_least(further(d, "S1"), 1.015),
        ),
    ),
    draw_growth,
)

# Without noise


def column_sums(data: xr.Dataset) -> xr.DataArray:
    """max_i |sum_j mu_i^T Delta W_K mu_j| over the largest entry."""
    P = data.projections.sel(projection="WK")
    return abs(P.sum("pattern")).max("left") / abs(P).max(["left", "pattern"])


def third(data: xr.Dataset, matrix: str, t: int = 1) -> xr.DataArray:
    """s_3 / s_1 of a change after t steps."""
    s = data.singular_values.sel(matrix=matrix, step=t)
    return s.sel(index=3) / s.sel(index=1)


def draw_noiseless(data: xr.Dataset) -> plot.Drawing:
    """Singular values of all four changes after one step and at the end; the table of W_K's projections."""
    settings = [str(s) for s in data.setting.values]
    figure, axes = plot.panels(len(settings) + 1, title=f"Without noise, {data.sizes['seed']} seeds", width=3.6)
    for ax, setting in zip(axes[0], settings, strict=False):
        for colour, matrix in enumerate(data.matrix.values):
            s = data.singular_values.sel(setting=setting, matrix=matrix, step=1).isel(seed=[0]) + 1e-12
            plot.series(ax, s.isel(index=slice(0, 8)), "index", str(matrix), colour=colour)
        plot.finish(ax, "index", "singular value at t = 1", f"{setting}, seed 0", yscale="log")
    P = data.projections.sel(setting=settings[-1], projection="WK").mean("seed")
    ax = axes[0, len(settings)]
    picture = ax.imshow(np.sign(P) * np.sqrt(abs(P)), cmap="RdBu_r", vmin=-1, vmax=1)
    ax.figure.colorbar(picture, ax=ax, label=r"signed $\sqrt{|\mu_i^\top \Delta W_K \mu_j|}$")
    ax.grid(False)
    plot.finish(ax, "pattern j", "pattern i", f"{settings[-1]}: rows sum to zero", legend=False)
    return figure


NOISELESS = Figure(
    "rank_noiseless",
    "derived: column sums, first step",
    MAIN.only("projections"),
    Config(noise=0.0),
    {"zip": BOTH, "seeds": 8, "steps": 60, "record": [0, 1, 60], "dtype": "float64"},
    {"zip": {name: values[:1] for name, values in BOTH.items()}, "seeds": 2, "steps": 20, "record": [0, 1, 20]},
    (
        claim(
            45,
            "derived",
            "Without noise every row of mu_i^T Delta W_K mu_j sums to zero: irrelevant keys pay for the relevant ones, against (8).",
            "holds",
            lambda d: verdicts.all_at_most(column_sums(d).fillna(np.inf), 1e-10),
            2,
        ),
        claim(
            46,
            "derived",
            "S1: the first step of W_V and W_O has rank 2 but for the small scores, s_3 at most .001 of s_1.",
            "holds",
            lambda d: verdicts.all_at_most(xr.concat([third(d.sel(setting="S1"), m) for m in ("WV", "WO")], "which").fillna(np.inf), 1e-3),
            2,
        ),
        claim(
            47,
            f"{PAPER}, remark 1, for one step",
            "P1: the first step of W_Q and W_K has rank 2 as well, s_3 at most .05 of s_1 on average.",
            "refuted",
            lambda d: verdicts.at_most(xr.concat([third(d.sel(setting="P1"), m) for m in ("WQ", "WK")], "which"), 0.05),
        ),
    ),
    draw_noiseless,
)

FIGURES: Any = (PROJECTIONS, GROWTH, NOISELESS)
