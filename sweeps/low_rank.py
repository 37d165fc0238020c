"""Low rank and sparsity of a one-layer Transformer, arXiv 2406.17167: figures 1 and 2 in five settings.

S1, S1p read A as one vector for all positions, P1, P1p as one per position; p: W(0) = delta^2 I with delta = 0.1 as section IV prints it,
else delta I. G has a larger delta and a smaller xi. No one setting shows all three figures. Thresholds were set on keys 100 to 103.
"""

from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, verdicts
from jaxtheory.theories.low_rank import P1, P1P, S1, S1P, Config, G, analyses, predictions

PAPER = "arXiv 2406.17167"
THEORY = jaxtheory.theories.get("low_rank")
NAMED = {"S1": S1, "S1p": S1P, "P1": P1, "P1p": P1P, "G": G}
SETTINGS: dict[str, Any] = {
    "setting": list(NAMED),
    **{word: [getattr(config, word) for config in NAMED.values()] for word in ("output", "learning_rate", "init_diagonal", "output_scale")},
    "steps": [120, 120, 160, 160, 150],
}
PRINTED = ["S1", "S1p", "P1", "P1p"]
FULL: dict[str, Any] = {"zip": SETTINGS, "seeds": 10, "steps": 160, "record": [0, 120, 150, 160], "dtype": "float32"}
TWO = {name: [values[0], values[4]] for name, values in SETTINGS.items()}
QUICK: dict[str, Any] = {"zip": TWO, "seeds": 2, "steps": 160, "record": [0, 120, 150]}


def only(*names: str) -> Any:
    """The theory with these analyses alone; what the others would take is dropped in compilation."""

    def some(params: Any, problem: Any, config: Any) -> dict[str, Any]:
        return {name: value for name, value in predictions.analyses(params, problem, config).items() if name in names}

    return THEORY._replace(analyses=some)


# What claims measure


def final(values: xr.DataArray) -> xr.DataArray:
    """The values at each setting's last step."""
    return values.sel(step=values.steps).drop_vars("step")


def last(values: xr.DataArray) -> xr.DataArray:
    """The values at the last recorded step."""
    return values.isel(step=-1, drop=True)


def of(values: Any, names: Any) -> Any:
    """Some settings."""
    return values.sel(setting=names)


def drop_at(name: str, rank: int, data: xr.Dataset) -> xr.DataArray:
    """By how much an analysis at a rank exceeds that at full rank."""
    return data[name].sel(rank=rank) - data[name].isel(rank=-1)


def changes_above(data: xr.Dataset, low: int) -> xr.DataArray:
    """The largest |truncated loss - full| from a rank on."""
    return abs(data.truncated_loss - data.truncated_loss.isel(rank=-1)).sel(rank=slice(low, None)).max("rank")


def each_mean(values: xr.DataArray, low: float, high: float, *, some: bool = False) -> Verdict:
    """Every mean over seeds lies in [low, high], or some does; measured is the worst of them, or the best."""
    means = values.mean("seed").values.ravel()
    outside = np.maximum(low - means, means - high)
    at = np.argmin(outside) if some else np.argmax(outside)
    return Verdict(bool(outside[at] <= 0), float(means[at]), f"[{low:g}, {high:g}]", values.sizes["seed"])


def some_at_least(values: xr.DataArray, threshold: float) -> Verdict:
    """The mean over seeds is at least the threshold somewhere; measured is the largest."""
    measured = float(values.mean("seed").max())
    return Verdict(measured >= threshold, measured, threshold, values.sizes["seed"])


def claim(number: int, source: str, statement: str, expected: str, test: Any, minimum: int = 8) -> Claim:
    """LR-number."""
    return Claim(f"LR-{number}", source, statement, expected, test, minimum)


# Figure 1

RANKS = [1, 2, 5, 10, 20]


def draw_truncation(data: xr.Dataset) -> plot.Drawing:
    """Loss, attention of all and of the relevant queries against the rank; one matrix cut to rank 1 at a time."""
    figure, axes = plot.panels(4, title=f"All changes cut to rank r, {data.sizes['seed']} seeds", width=3.3)
    ranks = [r for r in RANKS if r in data["rank"]]
    for ax, name, label in (
        (axes[0, 0], "truncated_loss", "test hinge loss"),
        (axes[0, 1], "truncated_attention", "attention on relevant tokens"),
        (axes[0, 2], "truncated_query_attention", "the same, relevant queries"),
    ):
        for colour, setting in enumerate(data.setting.values):
            plot.series(ax, data[name].sel(setting=setting, rank=ranks), "rank", str(setting), colour=colour)
        if ax is not axes[0, 0]:
            plot.theory(ax, ranks, float(data.predicted_relevant_attention_uniform.isel(step=0, seed=0, setting=0)), "uniform")
        plot.finish(ax, "rank r", label, xscale="log", legend=False)
        ax.set_xticks(ranks, [str(r) for r in ranks])
        ax.set_xticks([], minor=True)
    width = 0.8 / data.sizes["setting"]
    cost = (data.alone_truncated_loss - data.truncated_loss.isel(rank=-1)).mean("seed")
    for colour, setting in enumerate(data.setting.values):
        axes[0, 3].bar(np.arange(4) + colour * width, cost.sel(setting=setting), width, color=plot.COLOURS[colour], label=str(setting))
    axes[0, 3].set_xticks(np.arange(4) + 0.4, [str(c) for c in data.cut.values])
    plot.finish(axes[0, 3], "the one matrix cut to rank 1", "rise of the loss")
    return figure


TRUNCATION = Figure(
    "rank_truncation",
    f"{PAPER}, figure 1",
    THEORY._replace(analyses=analyses.ranks.truncation),
    Config(),
    FULL,
    QUICK,
    (
        claim(
            1,
            f"{PAPER}, figure 1A",
            "S1, S1p, P1, P1p: cutting all changes to any rank from 2 on changes the loss by less than .001.",
            "holds",
            lambda d: verdicts.at_most(changes_above(of(d, PRINTED), 2), 1e-3),
        ),
        claim(
            2,
            f"{PAPER}, figure 1A",
            "Cutting them to rank 1 costs at least .2.",
            "holds",
            lambda d: verdicts.at_least(drop_at("truncated_loss", 1, of(d, PRINTED)), 0.2),
        ),
        claim(
            3,
            f"{PAPER}, figure 1A",
            "Rank 1 costs accuracy, too: in some of them 5 % more of the test samples are wrong.",
            "refuted",
            lambda d: some_at_least(drop_at("truncated_error", 1, of(d, PRINTED)), 0.05),
        ),
        claim(
            4,
            f"{PAPER}, figure 1B",
            "P1: attention on relevant tokens rises from .30 to at least .45.",
            "holds",
            lambda d: verdicts.at_least(final(of(d, ["P1"]).relevant_attention), 0.45),
        ),
        claim(
            5,
            f"{PAPER}, figure 1B",
            "P1: rank 2 keeps it within .002.",
            "holds",
            lambda d: verdicts.at_most(abs(drop_at("truncated_attention", 2, of(d, ["P1"]))), 2e-3),
        ),
        claim(
            6,
            f"{PAPER}, figure 1B",
            "P1: rank 1 loses at least .015 of it, .06 for relevant queries.",
            "holds",
            lambda d: verdicts.at_most(
                xr.concat(
                    [
                        drop_at("truncated_attention", 1, of(d, ["P1"])) + 0.015,
                        drop_at("truncated_query_attention", 1, of(d, ["P1"])) + 0.06,
                    ],
                    "which",
                ),
                0.0,
            ),
        ),
        claim(
            7,
            f"{PAPER}, figure 1B",
            "With one a for all positions attention learns as well: S1 or S1p gains at least .05.",
            "refuted",
            lambda d: some_at_least(final(of(d, ["S1", "S1p"]).relevant_attention) - 0.3, 0.05),
        ),
        claim(
            8,
            "measured",
            "Neither W_V nor W_O can be cut to rank 1: each alone costs at least .05 in S1, S1p, P1, P1p.",
            "holds",
            lambda d: verdicts.at_least(
                (of(d, PRINTED).alone_truncated_loss - of(d, PRINTED).truncated_loss.isel(rank=-1)).sel(cut=["WV", "WO"]), 0.05
            ),
        ),
        claim(
            9,
            "measured",
            "W_K alone can: at most .02.",
            "holds",
            lambda d: verdicts.at_most(
                (of(d, PRINTED).alone_truncated_loss - of(d, PRINTED).truncated_loss.isel(rank=-1)).sel(cut="WK"), 0.02
            ),
        ),
    ),
    draw_truncation,
)

# Figure 2

TIMES = [1, 10, 20, 30]


def of_keys(data: xr.Dataset) -> xr.DataArray:
    """Singular values of the change of W_K."""
    return data.singular_values.sel(matrix="WK")


def gap(data: xr.Dataset, r: int = 2) -> xr.DataArray:
    """s_r / s_(r+1) of the change of W_K."""
    s = of_keys(data)
    return s.sel(index=r) / s.sel(index=r + 1)


def draw_singular(data: xr.Dataset) -> plot.Drawing:
    """The singular values at four times; and s_2 / s_3 and s_1 in t."""
    names = [str(s) for s in data.setting.values]
    figure, axes = plot.panels(len(TIMES) + 1, title=f"Singular values of the change of $W_K$, {data.sizes['seed']} seeds", width=3.0)
    for ax, t in zip(axes[0], TIMES, strict=False):
        for colour, name in enumerate(names):
            plot.series(ax, of_keys(data).sel(setting=name, step=t), "index", name, colour=colour, markers=True)
        plot.finish(ax, "index", f"singular value at t = {t}", yscale="log", legend=False)
    ax = axes[0, len(TIMES)]
    for colour, name in enumerate(names):
        values = gap(data).sel(setting=name).isel(step=slice(1, None)).dropna("step", how="all")
        plot.series(ax, values, "step", name, colour=colour)
    plot.theory(ax, None, 10.0, "10")
    plot.finish(ax, "step t", "$s_2 / s_3$", xscale="log", yscale="log")
    return figure


SINGULAR = Figure(
    "rank_singular_values",
    f"{PAPER}, figure 2",
    only(),
    Config(),
    FULL | {"record": {"singular_values": [0, *TIMES, 60, 120, 150, 160], "loss": [0, 160]}, "dtype": "float64"},
    QUICK | {"record": {"singular_values": [0, *TIMES, 120, 150], "loss": [0, 150]}, "steps": 150},
    (
        claim(
            10,
            f"{PAPER}, figure 2",
            "The largest singular value grows over t = 1, 10, 20, 30, in every run of every setting.",
            "holds",
            lambda d: verdicts.at_least((of_keys(d).sel(index=1, step=TIMES).diff("step") > 0).all("step").astype(float), 1.0),
            2,
        ),
        claim(
            11,
            f"{PAPER}, figure 2",
            "From t = 20 on the second is at least 10 times the third, in every run of every setting.",
            "holds",
            lambda d: verdicts.at_least((gap(d).sel(step=[20, 30]) >= 10).all("step").astype(float), 1.0),
        ),
        claim(
            12,
            f"{PAPER}, figure 2",
            "Also at the end of training.",
            "holds",
            lambda d: verdicts.at_least((final(gap(d)) >= 10).astype(float), 1.0),
        ),
        claim(
            13,
            f"{PAPER}, section IV",
            "P1, P1p: there is no such gap at t = 1, s_2 / s_3 is at most 3 on average.",
            "holds",
            lambda d: verdicts.at_most(gap(d).sel(setting=["P1", "P1p"], step=1), 3.0),
        ),
        claim(
            14,
            f"{PAPER}, section IV",
            "S1 or S1p: nor is there one, s_2 / s_3 at t = 1 is at most 3 on average.",
            "refuted",
            lambda d: each_mean(gap(d).sel(setting=["S1", "S1p"], step=1), 0.0, 3.0, some=True),
        ),
    ),
    draw_singular,
)

FIGURES = (TRUNCATION, SINGULAR)
