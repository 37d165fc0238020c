"""The sources' figures on random walks: the circles at p = 1/2 and 1, the failure at p in {0, 1}, the values' direction and its rate.

Thresholds are those of the sources where they print numbers, else measured on keys 100 and 101 and widened; the comments say how.
"""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Drawing

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, statistics
from jaxtheory.theories.random_walk import CIRCLE6, Config

THEORY = jaxtheory.theories.get("random_walk")
PAPER, TALK = "Towards Understanding Transformers in Learning Random Walks", "Transformers Learn Random Walk Prediction"
# Quick figures share one padded shape, hence one compilation.
QUICK = {"config": CIRCLE6.pad(num_states=20, length=101, encoding_dim=4060), "seeds": 2, "buckets": "pad", "dtype": "float32"}
p_, K_, N_, eta_ = "clockwise_probability", "num_states", "length", "learning_rate"


# What claims measure


def last(data: xr.DataArray) -> xr.DataArray:
    """The value at the last recorded step."""
    return data.isel(step=-1)


def right(data: xr.Dataset) -> xr.DataArray:
    """Whether a run ended with most attention on the parent."""
    return last(data.selected_lag) == 1


def optimum(data: xr.Dataset) -> xr.DataArray:
    """max(p, 1 - p)."""
    p = data[p_]
    return xr.where(p > 0.5, p, 1 - p)


def at_least(share: xr.DataArray, threshold: float, n: int) -> Verdict:
    """Holds where the mean of a truth array reaches the threshold."""
    found = float(share.mean())
    return Verdict(found >= threshold, found, threshold, n)


def between(value: xr.DataArray | float, low: float, high: float, n: int) -> Verdict:
    """Holds where the mean lies in [low, high]."""
    found = float(np.mean(value))
    return Verdict(low <= found <= high, found, f"[{low:.4g}, {high:.4g}]", n)


# The circles of the talk (K = 20, N = 101) and of the paper (K = 6, N = 97), at p = 1/2 and p = 1

CIRCLES = {"circle": ["K=6, N=97", "K=20, N=101"], "num_states": [6, 20], "length": [97, 101]}


def half_way(data: xr.Dataset, circle: int) -> xr.Dataset:
    """The runs of a circle at p = 1/2."""
    return data.sel({p_: 0.5}).isel(circle=circle)


def optimal_accuracy(data: xr.Dataset) -> Verdict:
    half = data.sel({p_: 0.5})
    return at_least(abs(last(half.accuracy) - 0.5) < 1e-5, 0.95, data.sizes["seed"])


def parent_soon(data: xr.Dataset) -> Verdict:
    """By t = 4 the parent holds .999 of the attention (16 of 16 seeds on key 100, both circles)."""
    return at_least(data.sel({p_: 0.5}).parent_attention.sel(step=slice(4, None)).min("step") >= 0.999, 0.9, data.sizes["seed"])


def value_error_6(data: xr.Dataset) -> Verdict:
    return between(last(half_way(data, 0).value_direction_error), 0.17, 0.20, data.sizes["seed"])


def value_error_20(data: xr.Dataset) -> Verdict:
    return between(last(half_way(data, 1).value_direction_error), 0.11, 0.16, data.sizes["seed"])


def loss_6(data: xr.Dataset) -> Verdict:
    return between(last(half_way(data, 0).loss), -1.0702, -1.0602, data.sizes["seed"])


def kl_6(data: xr.Dataset) -> Verdict:
    return between(last(half_way(data, 0).kl), 0.20, 0.25, data.sizes["seed"])


def random_guess(data: xr.Dataset) -> Verdict:
    """K times the accuracy is the share of one label in 1000 test sequences: 1 up to sqrt((K - 1) / 1000) a seed."""
    sure = last(data.sel({p_: 1.0}))
    return between((sure.accuracy * data[K_]).mean(), 0.8, 1.2, data.sizes["seed"])


def uniform_attention(data: xr.Dataset) -> Verdict:
    worst = float(data.sel({p_: 1.0}).attention_spread.max())
    return Verdict(worst < 1e-12, worst, 1e-12, data.sizes["seed"])


def draw_circles(data: xr.Dataset) -> Drawing:
    shown = {
        "loss": "loss L",
        "accuracy": "accuracy",
        "parent_attention": "attention on the parent, $S_{N-1}$",
        "value_direction_error": r"$\|V/\|V\| - \Pi^\top/\|\Pi\|\|_F$",
        "kl": "KL(law || normalised f), nats",
    }
    figure, axes = plot.panels(len(shown), data.sizes["circle"], width=2.9, height=2.5, title="Walks on a circle from the zero start")
    for row, circle in enumerate(data.circle.values):
        for ax, (name, label) in zip(axes[row], shown.items(), strict=True):
            for i, p in enumerate(data[p_].values):
                runs = data.sel({"circle": circle, p_: p})
                plot.series(ax, runs[name], "step", f"p = {p:g}", colour=i, markers=False)
                if name == "accuracy":
                    plot.theory(ax, 0, runs.predicted_accuracy.values.flat[0], "theory" if i == 0 else "", colour=i)
                for kind in ("population",):
                    curve = f"predicted_{name}_{kind}"
                    if curve in data and np.isfinite(runs[curve]).any():
                        plot.theory(ax, data.step.values, runs[curve].isel(seed=0).values, "theory, B = ∞", colour=i)
            plot.finish(ax, "step t", label, str(circle))
    return figure


CIRCLES_FIGURE = Figure(
    "walk_circles",
    f"{TALK}: experiments at p = 1/2 and 1; {PAPER}: figures for K = 6, N = 97",
    THEORY,
    CIRCLE6,
    {"zip": CIRCLES, "vary": {p_: [0.5, 1.0]}, "seeds": 16, "steps": 50, "record": 1, "buckets": "pad", "dtype": "float32"},
    QUICK | {"record": [*range(11), *range(12, 51, 4), 50]},
    (
        Claim("RW-1", f"{TALK}, corollary", "At p = 1/2 the accuracy is 1/2 after 50 steps.", "holds", optimal_accuracy),
        Claim("RW-2", f"{TALK}, theorem", "From step 4 on the parent holds at least .999 of the attention.", "holds", parent_soon),
        Claim("RW-3", PAPER, "K = 6, p = 1/2: the value matrix is .17 to .20 from its direction at t = 50.", "holds", value_error_6),
        Claim("RW-4", TALK, "K = 20, p = 1/2: the value matrix is .11 to .16 from its direction at t = 50.", "holds", value_error_20),
        Claim("RW-5", PAPER, "K = 6, p = 1/2: the loss at t = 50 is -1.065.", "holds", loss_6),
        Claim("RW-6", PAPER, "K = 6, p = 1/2: KL(law || output) at t = 50 is .20 to .25, not yet near 0.", "holds", kl_6),
        Claim("RW-7", f"{TALK}, p = 1", "At p = 1 the accuracy stays at the share of one label, about 1/K.", "holds", random_guess),
        Claim("RW-8", f"{TALK}, p = 1", "At p = 1 attention stays uniform on a finite sample, too.", "holds", uniform_attention),
    ),
    draw_circles,
)


# Failure at p in {0, 1}: the exact population

FAILS = {"circle": ["6, 95", "6, 96", "6, 97", "6, 98", "6, 99", "6, 100", "5, 26", "5, 27", "5, 28"]}
FAILS |= {K_: [6] * 6 + [5] * 3, N_: [95, 96, 97, 98, 99, 100, 26, 27, 28]}


def turns(data: xr.Dataset) -> xr.DataArray:
    """Whether N = rK + 1."""
    return (data[N_] - 1) % data[K_] == 0


def failure(data: xr.Dataset) -> Verdict:
    stuck = data.isel(circle=np.nonzero(turns(data).values)[0])
    worst = max(float(abs(stuck.accuracy - 1 / stuck[K_]).max()), float(stuck.attention_spread.max()))
    return Verdict(worst < 1e-9, worst, 1e-9, stuck.accuracy.isel(step=0).size)


def other_lengths(data: xr.Dataset) -> Verdict:
    free = data.isel(circle=np.nonzero(~turns(data).values)[0])
    return at_least(free.accuracy.sel(step=slice(10, None)).min("step") > 1 - 1e-9, 1.0, free.accuracy.isel(step=0).size)


def draw_failure(data: xr.Dataset) -> Drawing:
    figure, axes = plot.panels(2, width=4.6, height=3.4, title="Exact population at p in {0, 1}: learned unless N = rK + 1")
    worst = last(data.accuracy).mean([p_, "seed"])
    if "loss_function" not in worst.dims:
        worst = worst.expand_dims(loss_function=["log"])
    table = worst.stack(rule=("loss_function", eta_))
    names = [f"{loss}, {eta:g}" for loss, eta in table.rule.values]
    table = table.drop_vars(["rule", "loss_function", eta_]).assign_coords(rule=names)
    plot.heat(axes[0, 0], table, "circle", "rule", label=f"accuracy at t = {int(data.step[-1])}", span=(0, 1))
    plot.finish(axes[0, 0], "states and positions, K, N", "loss function, η", "mean over p = 0 and 1")
    axes[0, 0].tick_params(axis="x", rotation=45)
    ax = axes[0, 1]
    for colour, circle in enumerate(["6, 97", "6, 98"]):
        runs = data.sel({"circle": circle, eta_: 1.0, p_: 1.0})
        runs = runs.sel(loss_function="log") if "loss_function" in runs.dims else runs
        plot.series(ax, runs.attention_spread + 1e-17, "step", f"K, N = {circle}", colour=colour)
    plot.finish(ax, "step t", "max − min attention over tokens, plus 1e-17", "log loss, η = 1, p = 1", yscale="log")
    return figure


FAILURE_FIGURE = Figure(
    "walk_failure",
    f"{TALK}, theorem on p in {{0, 1}}",
    THEORY,
    Config(population=True, clockwise_probability=1.0),
    {
        "zip": FAILS,
        "vary": {p_: [0.0, 1.0], eta_: [0.1, 1.0], "loss_function": ["log", "square", "hinge"]},
        "steps": 50,
        "record": [*range(11), 20, 50],
        "buckets": "pad",
        "dtype": "float64",
    },
    {"zip": {"circle": ["6, 97", "6, 98"], K_: [6, 6], N_: [97, 98]}, "vary": {p_: [0.0, 1.0], eta_: [0.1, 1.0]}},
    (
        Claim(
            "RW-9",
            f"{TALK}, theorem",
            "p in {0, 1}, N = rK + 1: accuracy 1/K and uniform attention at every step, whatever the loss and the rate.",
            "holds",
            failure,
            minimum=1,
        ),
        Claim(
            "RW-10",
            f"{PAPER}, remark on the failure theorem",
            "p in {0, 1}, N != rK + 1: accuracy 1 from step 10 on.",
            "holds",
            other_lengths,
            minimum=1,
        ),
    ),
    draw_failure,
)

FIGURES = (CIRCLES_FIGURE, FAILURE_FIGURE)
