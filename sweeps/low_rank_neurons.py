"""The neurons of arXiv 2406.17167: figure 3, corollary 1, also over M, and which neurons stay small."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Figure, Verdict, plot, verdicts
from jaxtheory.theories.low_rank import Config

MAIN = jaxtheory.theories.load(Path(__file__).with_name("low_rank.py"))
PAPER, claim, final, of, last = MAIN.PAPER, MAIN.claim, MAIN.final, MAIN.of, MAIN.last
SHARED = ["S1", "S1p", "G"]


# Figure 3 and corollary 1


def pruned(data: xr.Dataset, order: str, rate: float) -> xr.DataArray:
    """Loss without a share of the neurons."""
    return data.pruned_loss.sel(order=order, rate=rate, drop=True)


def rise(data: xr.Dataset, order: str, rate: float) -> xr.DataArray:
    """What this costs."""
    return pruned(data, order, rate) - pruned(data, order, 0.0)


def knee(data: xr.Dataset) -> xr.DataArray:
    """The largest multiple of .1 up to which pruning small neurons costs at most .01."""
    tenths = data.pruned_loss.sel(order="small", drop=True).isel(rate=slice(0, None, 20))
    fine = (tenths - tenths.isel(rate=0) <= 0.01).cumprod("rate")
    return (fine.sum("rate") - 1) / 10


def draw_neurons(data: xr.Dataset) -> plot.Drawing:
    """Sorted norms, sorted changes, the loss against the share pruned: small first in all settings, all orders in one of each reading."""
    names = [str(s) for s in data.setting.values]
    figure, axes = plot.panels(5, title=f"Neurons of $W_O$, {data.sizes['seed']} seeds", width=3.0)
    share = (np.arange(data.sizes["neuron"]) + 1) / data.sizes["neuron"]
    for ax, name, label in ((axes[0, 0], "neuron_norms", "$|o_i|$, sorted"), (axes[0, 1], "neuron_changes", "$|o_i - o_i(0)|$, sorted")):
        for colour, setting in enumerate(names):
            values = xr.DataArray(np.sort(data[name].sel(setting=setting).values, axis=-1), {"share": share}, ["seed", "share"])
            plot.series(ax, values, "share", setting, colour=colour, markers=False)
        plot.finish(ax, "share of the neurons", label, legend=ax is axes[0, 0])
    for colour, setting in enumerate(names):
        plot.series(axes[0, 2], data.pruned_loss.sel(setting=setting, order="small"), "rate", setting, colour=colour, markers=False)
    plot.theory(axes[0, 2], None, 0.0, "")
    axes[0, 2].axvline(0.4, color="#999999", linewidth=0.8)
    plot.finish(axes[0, 2], "share pruned, small first", "test hinge loss", legend=False)
    for ax, setting in ((axes[0, 3], names[0]), (axes[0, 4], "P1" if "P1" in names else names[-1])):
        for colour, order in enumerate(data.order.values):
            plot.series(ax, data.pruned_loss.sel(setting=setting, order=order), "rate", str(order), colour=colour, markers=False)
        plot.theory(ax, data.rate.values, data.rate.values, "loss = share")
        plot.finish(ax, f"share pruned in {setting}", "test hinge loss", legend=ax is axes[0, 3])
    return figure


def gap_share(data: xr.Dataset) -> xr.DataArray:
    """The share of neurons below the largest gap of the sorted norms, in G."""
    return final(of(data, ["G"]).small_fraction).isel(setting=0)


NEURONS = Figure(
    "neurons_pruning",
    f"{PAPER}, figure 3 and corollary 1",
    MAIN.only("pruned_loss", "pruned_truncated_loss", "neuron_norms", "neuron_changes"),
    Config(),
    MAIN.FULL,
    MAIN.QUICK,
    (
        claim(
            15,
            f"{PAPER}, figure 3A",
            "G: the sorted norms jump by a factor of 2 or more, in 80 % of the runs.",
            "holds",
            lambda d: verdicts.at_least((final(of(d, ["G"]).small_ratio) >= 2).astype(float), 0.8),
        ),
        claim(
            16,
            f"{PAPER}, figure 3A",
            "G: a share of .4 lies below the jump, .32 to .46 on average.",
            "holds",
            lambda d: verdicts.mean_between(gap_share(d), 0.32, 0.46),
        ),
        claim(
            17,
            f"{PAPER}, figure 3A",
            "S1 or S1p, where xi is as printed: the norms jump by a factor of 2 or more, on average.",
            "refuted",
            lambda d: MAIN.some_at_least(final(of(d, ["S1", "S1p"]).small_ratio), 2.0),
        ),
        claim(
            18,
            f"{PAPER}, equation (13) for the changes",
            "S1, S1p: a share of .33 to .46 of the neurons has changed by less than .33 of the 95 % quantile.",
            "holds",
            lambda d: MAIN.each_mean(final(of(d, ["S1", "S1p"]).small_changes), 0.33, 0.46),
        ),
        claim(
            19,
            f"{PAPER}, equation (13) for the changes",
            "P1 or P1p: the same share.",
            "refuted",
            lambda d: MAIN.each_mean(final(of(d, ["P1", "P1p"]).small_changes), 0.33, 0.46, some=True),
        ),
        claim(
            20,
            f"{PAPER}, figure 3B",
            "Without the smallest .4 of the neurons the loss is at most .02 larger, in every setting.",
            "holds",
            lambda d: verdicts.at_most(rise(d, "small", 0.4), 0.02),
        ),
        claim(
            21,
            f"{PAPER}, figure 3B",
            "S1, S1p, G: without .6 it is at least .04 larger.",
            "holds",
            lambda d: verdicts.at_least(rise(of(d, SHARED), "small", 0.6), 0.04),
        ),
        claim(
            22,
            f"{PAPER}, figure 3B",
            "S1, S1p, G: without .8 at least .35.",
            "holds",
            lambda d: verdicts.at_least(rise(of(d, SHARED), "small", 0.8), 0.35),
        ),
        claim(
            23,
            f"{PAPER}, figure 3B",
            "S1, S1p, G: the last tenth that costs at most .01 is .4 or .5, mean .36 to .56.",
            "holds",
            lambda d: MAIN.each_mean(knee(of(d, SHARED)), 0.36, 0.56),
        ),
        claim(
            24,
            f"{PAPER}, figure 3B",
            "P1 or P1p: likewise.",
            "refuted",
            lambda d: MAIN.each_mean(knee(of(d, ["P1", "P1p"])), 0.36, 0.56, some=True),
        ),
        claim(
            25,
            f"{PAPER}, corollary 1, (14)",
            "Without the smallest .35 the loss is at most 1/M = .05, in every setting.",
            "holds",
            lambda d: verdicts.at_most(pruned(d, "small", 0.35), 0.05),
        ),
        claim(
            26,
            f"{PAPER}, corollary 1, (15)",
            "Without the largest .3 it is at least .25, in every setting.",
            "holds",
            lambda d: verdicts.at_least(pruned(d, "large", 0.3), 0.25),
        ),
        claim(
            27,
            f"{PAPER}, corollary 1, (15)",
            "Without the largest .5 at least .6.",
            "holds",
            lambda d: verdicts.at_least(pruned(d, "large", 0.5), 0.6),
        ),
        claim(
            28,
            f"{PAPER}, corollary 1, (15) with constant 1",
            "S1 or S1p: without the largest R = .1 it is at least R.",
            "refuted",
            lambda d: MAIN.some_at_least(pruned(of(d, ["S1", "S1p"]), "large", 0.1), 0.1),
        ),
        claim(
            29,
            "measured",
            "At .4 random neurons cost at least .08 more than the smallest, in every setting.",
            "holds",
            lambda d: verdicts.at_least(pruned(d, "random", 0.4) - pruned(d, "small", 0.4), 0.08),
        ),
        claim(
            30,
            f"{PAPER}, remark 1 and corollary 1 together",
            "Rank 2 and without the smallest .35: at most .02 above the loss of the trained model.",
            "holds",
            lambda d: verdicts.at_most(d.pruned_truncated_loss.sel(rate=0.35) - pruned(d, "small", 0.0), 0.02),
        ),
    ),
    draw_neurons,
)

# The small set


def small_rows(data: xr.Dataset) -> xr.DataArray:
    """Neurons below the largest gap of the sorted norms."""
    m = data.sizes["neuron"]
    norms = data.neuron_norms
    axis = norms.get_axis_num("neuron")
    place = norms.copy(data=np.argsort(np.argsort(norms.values, axis=axis), axis=axis))
    return place < (last(data.small_fraction) * m).round()


def active_own(data: xr.Dataset) -> xr.DataArray:
    """Neurons that are active on the mean token of their own class at the start."""
    first, second = (data.neuron_start.isel(class_mean=c) > 0 for c in (0, 1))
    return xr.where(data.neuron_class == 0, first, second)


def share_small(data: xr.Dataset, active: bool) -> xr.DataArray:
    """The share of small neurons among those active, or inactive, on their own class mean."""
    among = active_own(data) == active
    return (small_rows(data) & among).sum("neuron") / among.sum("neuron")


def off_law(data: xr.Dataset, name: str) -> xr.DataArray:
    """|mean over seeds of the small share - a law|, per cell."""
    return abs(last(data.small_fraction).mean("seed") - data[f"predicted_small_fraction_{name}"].isel(step=0, seed=0, drop=True))


def cells_at_most(values: xr.DataArray, threshold: float, n: int) -> Verdict:
    """The largest of some cells."""
    return Verdict(float(values.max()) <= threshold, float(values.max()), threshold, n)


def draw_small(data: xr.Dataset) -> plot.Drawing:
    """The small share and its laws against the noise; shares of small neurons by what they were at the start."""
    figure, axes = plot.panels(3, title=f"Which neurons stay small (setting G), {data.sizes['seed']} seeds", width=4.0, height=3.2)
    for colour, count in enumerate(data.num_confusion.values):
        at = {"num_confusion": count}
        plot.series(axes[0, 0], last(data.small_fraction).sel(at), "noise", f"nconf = {count}", colour=colour)
        curve = data.predicted_small_fraction_own_mean.isel(step=0, seed=0).sel(at)
        plot.theory(axes[0, 0], data.noise.values, curve, "own-mean law" if colour == 0 else "", colour=colour)
        plot.series(axes[0, 1], share_small(data.sel(at), True), "noise", f"active, nconf = {count}", colour=colour)
        plot.series(axes[0, 2], data.dead_neurons.isel(step=0).sel(at), "noise", f"nconf = {count}", colour=colour)
        plot.theory(axes[0, 2], None, float(data.predicted_dead_neurons_angle.isel(step=0, seed=0, noise=0).sel(at)), "", colour=colour)
        plot.series(axes[0, 1], share_small(data.sel(at), False), "noise", f"inactive, nconf = {count}", colour=colour + 3)
    plot.finish(axes[0, 0], "noise σ", "share of small neurons")
    plot.finish(axes[0, 1], "noise σ", "share that stays small", "own class mean at t = 0")
    plot.finish(axes[0, 2], "noise σ", "dead on both means, t = 0", r"dashed: $1/2 - \theta/2\pi$", legend=False)
    axes[0, 2].set_ylim(0.25, 0.5)
    return figure


SMALL_SET = Figure(
    "neurons_small_set",
    f"{PAPER}, figure 3A: what decides",
    MAIN.only("neuron_norms", "neuron_class", "neuron_start"),
    Config(init_diagonal=0.2, output_scale=0.01),
    {
        "vary": {"noise": [0.0, 0.05, 0.1, 0.2], "num_confusion": [1, 3, 6]},
        "seeds": 10,
        "steps": 150,
        "record": [0, 150],
        "dtype": "float32",
    },
    {"vary": {"noise": [0.0, 0.1], "num_confusion": [1, 3]}, "seeds": 2},
    (
        claim(
            55,
            "derived",
            "At the start a share 1/2 - theta / 2 pi of the neurons is inactive on both class means, within .045 in every cell.",
            "holds",
            lambda d: cells_at_most(
                abs(d.dead_neurons.isel(step=0, drop=True).mean("seed") - d.predicted_dead_neurons_angle.isel(step=0, seed=0, drop=True)),
                0.045,
                d.sizes["seed"],
            ),
        ),
        claim(
            56,
            "first guess, derived",
            "That share stays small: the one below the gap is 1/2 - theta / 2 pi within .1, in every cell.",
            "refuted",
            lambda d: cells_at_most(off_law(d, "angle"), 0.1, d.sizes["seed"]),
        ),
        claim(
            57,
            "reconstructed",
            "It is Phi(-1.05 sigma sqrt(d) / (sqrt(L) |m|)), m the own class mean, within .1 in every cell.",
            "holds",
            lambda d: cells_at_most(off_law(d, "own_mean"), 0.1, d.sizes["seed"]),
        ),
        claim(
            58,
            "measured",
            "Without noise at least .75 of the neurons inactive on their own class mean stay small, in every cell.",
            "holds",
            lambda d: verdicts.at_least(share_small(d, False).sel(noise=0.0), 0.75),
        ),
        claim(
            59,
            "measured",
            "Of those active on it at most .1 stay small, in every cell.",
            "holds",
            lambda d: verdicts.at_most(share_small(d, True), 0.1),
        ),
    ),
    draw_small,
)

# Corollary 1 over M

DICTIONARIES: dict[str, Any] = {
    "num_patterns": [10, 20, 40],
    "dimension": [10, 20, 40],
    "query_dim": [10, 20, 40],
    "value_dim": [10, 20, 40],
    "num_relevant": [5, 9, 18],
    "num_confusion": [1, 3, 6],
}


def draw_dictionary(data: xr.Dataset) -> plot.Drawing:
    """Loss by the share pruned, small first and large first, for each M; 1/M dashed."""
    figure, axes = plot.panels(2, title=f"Pruning with M patterns (S1), {data.sizes['seed']} seeds", width=4.0)
    for ax, order in zip(axes[0], ("small", "large"), strict=True):
        for colour, M in enumerate(data.num_patterns.values):
            plot.series(ax, data.pruned_loss.sel(num_patterns=M, order=order), "rate", f"M = {M}", colour=colour, markers=False)
            if order == "small":
                plot.theory(ax, None, 1 / M, "1/M" if colour == 0 else "", colour=colour)
        plot.finish(ax, f"share pruned, {order} first", "test hinge loss", legend=order == "small")
    axes[0, 0].set_xlim(0, 0.6)
    axes[0, 0].set_ylim(0, 0.2)
    return figure


DICTIONARY = Figure(
    "neurons_dictionary",
    f"{PAPER}, corollary 1 over M",
    MAIN.only("pruned_loss"),
    Config(),
    {"zip": DICTIONARIES, "seeds": 8, "steps": 120, "record": [0, 120], "dtype": "float32", "buckets": "exact"},
    {"zip": {name: values[:1] for name, values in DICTIONARIES.items()}, "seeds": 2},
    (
        claim(
            60,
            f"{PAPER}, (14)",
            "Without the smallest .35 of the neurons the loss is at most 1/M, for M = 10, 20, 40.",
            "holds",
            lambda d: verdicts.at_most(d.pruned_loss.sel(order="small", rate=0.35) - 1 / d.num_patterns, 0.0),
        ),
        claim(
            61,
            f"{PAPER}, (15)",
            "Without the largest .3 it is at least .2 for each M.",
            "holds",
            lambda d: verdicts.at_least(d.pruned_loss.sel(order="large", rate=0.3), 0.2),
        ),
    ),
    draw_dictionary,
)


FIGURES: Any = (NEURONS, SMALL_SET, DICTIONARY)
