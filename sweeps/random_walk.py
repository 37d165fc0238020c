"""The sources' figures on random walks from the zero start: p = 1/2 and 1, the failure at p in {0, 1}, the direction of V and its rate.

Thresholds come from the sources' numbers and from runs on keys 100 and 101, widened; a comment says what was measured where they are tight.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, statistics, verdicts
from jaxtheory.theories.random_walk import CIRCLE6, Config

THEORY = jaxtheory.theories.get("random_walk")
PAPER, TALK = "Towards Understanding Transformers in Learning Random Walks", "Transformers Learn Random Walk Prediction (talk)"
K, N, P, ETA, B = "num_states", "length", "clockwise_probability", "learning_rate", "num_sequences"
# Quick figures of the walk share shapes, steps and the number of problems (8), hence one compilation.
SHAPES = CIRCLE6.pad(num_states=20, length=101, encoding_dim=1015)
QUICK = {"config": SHAPES, "seeds": 2, "steps": 50, "buckets": "pad", "dtype": "float32"}


# What claims measure


def last(values: xr.DataArray) -> xr.DataArray:
    """The values at the last recorded step."""
    return values.isel(step=-1)


def right(data: xr.Dataset) -> xr.DataArray:
    """Whether a run ended with most attention on the parent."""
    return last(data.selected_lag) == 1


def optimum(data: xr.Dataset) -> xr.DataArray:
    """max(p, 1 - p)."""
    return abs(data[P] - 0.5) + 0.5


# The circles of the talk (K = 20, N = 101) and of the paper (K = 6, N = 97)

V = "value_direction_error"
SHOWN = {
    "loss": "loss L",
    "accuracy": "accuracy",
    "parent_attention": "attention on the parent",
    V: r"direction error of V against $\Pi^\top$",
    "kl": "KL(law || output), nats",
}


def at_half(name: str, circle: int, low: float, high: float) -> Callable[[xr.Dataset], Verdict]:
    """The test that a metric of one circle ends in [low, high] at p = 1/2, where the parent is selected (K = 6: all but 1 in 100 runs)."""
    return lambda data: verdicts.mean_between(last(data[name]).where(right(data)).sel({P: 0.5}).isel(circle=circle), low, high)


def draw_circles(data: xr.Dataset) -> plot.Drawing:
    """A row per circle, a panel per metric, a colour per p; dashed: infinitely many sequences, and the limits of the accuracy."""
    figure, axes = plot.panels(len(SHOWN), data.sizes["circle"], width=3.0, height=2.6)
    for row, circle in enumerate(data.circle.values):
        for ax, (name, label) in zip(axes[row], SHOWN.items(), strict=True):
            for i, p in enumerate(data[P].values):
                runs = data.sel({"circle": circle, P: p})
                plot.series(ax, runs[name], "step", f"p = {p:g}", colour=i, markers=False)
                if name == "accuracy":
                    plot.theory(ax, 0, float(runs.predicted_accuracy.max()), "theory" if i else "", colour=i)
                curve = runs.get(f"predicted_{name}_population", xr.DataArray(np.nan)).squeeze()
                if curve.notnull().any():
                    plot.theory(ax, data.step.values, curve.isel(seed=0).values, "B = ∞, theory", colour=i)
            plot.finish(ax, "step t", label, str(circle))
    return figure


CIRCLES = Figure(
    "walk_circles",
    f"{TALK}, experiments at p = 1/2 and p = 1; {PAPER}, figures for K = 6, N = 97",
    THEORY,
    CIRCLE6,
    {
        "zip": {"circle": ["K=6, N=97", "K=20, N=101"], K: [6, 20], N: [97, 101]},
        "vary": {P: [0.5, 1.0]},
        "seeds": 16,
        "steps": 50,
        "record": 1,
        "buckets": "pad",
        "dtype": "float32",
    },
    QUICK | {"record": [*range(11), *range(14, 51, 4)]},
    (
        Claim(
            "RW-1",
            f"{TALK}, corollary",
            "p = 1/2: the accuracy is 1/2 (90 % of the runs).",
            "holds",
            lambda data: verdicts.mean_at_least(abs(last(data.accuracy.sel({P: 0.5})) - 0.5) < 1e-5, 0.9),
        ),
        Claim(
            "RW-2",
            f"{TALK}, theorem",
            "p = 1/2: from t = 4 on the parent holds at least .999 of the attention (90 % of the runs).",
            "holds",
            lambda data: verdicts.mean_at_least(data.parent_attention.sel({P: 0.5, "step": slice(4, None)}).min("step") >= 0.999, 0.9),
        ),
        Claim("RW-3", f"{PAPER}, K = 6", "p = 1/2, t = 50: V is .17 to .20 from its direction.", "holds", at_half(V, 0, 0.17, 0.20)),
        Claim("RW-4", f"{TALK}, K = 20", "p = 1/2, t = 50: V is .11 to .16 from its direction.", "holds", at_half(V, 1, 0.11, 0.16)),
        Claim("RW-5", f"{PAPER}, K = 6", "p = 1/2, t = 50: the loss is -1.065.", "holds", at_half("loss", 0, -1.0702, -1.0602)),
        Claim("RW-6", f"{PAPER}, K = 6", "p = 1/2, t = 50: KL is .20 to .25, not yet near 0.", "holds", at_half("kl", 0, 0.20, 0.25)),
        Claim(
            "RW-7",
            f"{TALK}, p = 1",
            "p = 1: the accuracy stays that of a random guess (K times the accuracy is 1).",
            "holds",
            # the share of one label among 1000 test sequences: K accuracy is 1 up to sqrt((K - 1) / 1000) a run
            lambda data: verdicts.mean_between(last(data.accuracy.sel({P: 1.0})) * data[K], 0.85, 1.15),
        ),
        Claim(
            "RW-8",
            f"{TALK}, p = 1",
            "p = 1: attention stays uniform over the tokens on a finite sample, too.",
            "holds",
            lambda data: verdicts.mean_at_least(data.attention_spread.sel({P: 1.0}).max("step") < 1e-12, 1.0),
        ),
    ),
    draw_circles,
)


# The failure at p in {0, 1}, on the exact population: no seeds

LENGTHS = {K: [6] * 6 + [5] * 3, N: [95, 96, 97, 98, 99, 100, 26, 27, 28]}


def stuck(data: xr.Dataset, wanted: bool) -> xr.Dataset:
    """The circles with N = rK + 1, or the others."""
    return data.isel(circle=np.flatnonzero(((data[N] - 1) % data[K] == 0).values == wanted))


def failure(data: xr.Dataset) -> Verdict:
    """The largest of |accuracy - 1/K| and of the attention's spread over all steps, losses and rates where N = rK + 1."""
    runs = stuck(data, True)
    worst = max(float(abs(runs.accuracy - 1 / runs[K]).max()), float(runs.attention_spread.max()))
    return Verdict(worst < 1e-12, worst, 1e-12, last(runs.accuracy).size)


def success(data: xr.Dataset) -> Verdict:
    """The smallest accuracy from t = 10 on where N != rK + 1."""
    runs = stuck(data, False).accuracy.sel(step=slice(10, None))
    return Verdict(float(runs.min()) > 1 - 1e-9, float(runs.min()), 1.0, last(runs).size)


def draw_failure(data: xr.Dataset) -> plot.Drawing:
    """Accuracy by (K, N) and by loss and rate; the spread of the attention along two runs."""
    data = data if "loss_function" in data.dims else data.expand_dims(loss_function=["log"])
    figure, axes = plot.panels(2, width=5.0, height=3.4)
    table = last(data.accuracy).mean([P, "seed"]).stack(rule=("loss_function", ETA))
    names = [f"{loss}, {eta:g}" for loss, eta in table.rule.values]
    table = table.drop_vars(["rule", "loss_function", ETA]).assign_coords(rule=names)
    plot.heat(axes[0, 0], table, "circle", "rule", label=f"accuracy at t = {int(data.step[-1])}, p = 0 and 1", span=(0, 1))
    plot.finish(axes[0, 0], "K, N", "loss function, η", "learned unless N = rK + 1")
    axes[0, 0].tick_params(axis="x", rotation=45)
    for colour, circle in enumerate(("6, 97", "6, 98")):
        spread = data.attention_spread.sel({"circle": circle, ETA: 1.0, P: 1.0, "loss_function": "log"})
        plot.series(axes[0, 1], spread + 1e-17, "step", f"K, N = {circle}", colour=colour)
    plot.finish(axes[0, 1], "step t", r"max − min of the attention, + $10^{-17}$", "log loss, η = 1, p = 1", yscale="log")
    return figure


FAILURE = Figure(
    "walk_failure",
    f"{TALK}, theorem on p in {{0, 1}}",
    THEORY,
    Config(population=True, clockwise_probability=1.0),
    {
        "zip": {"circle": [f"{k}, {n}" for k, n in zip(LENGTHS[K], LENGTHS[N], strict=True)]} | LENGTHS,
        "vary": {P: [0.0, 1.0], ETA: [0.1, 1.0], "loss_function": ["log", "square", "hinge"]},
        "steps": 50,
        "record": [*range(11), 20, 50],
        "buckets": "pad",
        "dtype": "float64",
    },
    {"zip": {"circle": ["6, 97", "6, 98"], K: [6, 6], N: [97, 98]}, "vary": {P: [0.0, 1.0], ETA: [0.1, 1.0]}},
    (
        Claim(
            "RW-9",
            f"{TALK}, failure theorem",
            "p in {0, 1}, N = rK + 1: accuracy 1/K and uniform attention at every step, for every loss and rate.",
            "holds",
            failure,
            minimum=1,
        ),
        Claim(
            "RW-10",
            f"{PAPER}, condition of the failure theorem",
            "p in {0, 1}, N != rK + 1: accuracy 1 from t = 10 on.",
            "holds",
            success,
            minimum=1,
        ),
    ),
    draw_failure,
)


# The direction of V against p


def odds_exponent(data: xr.Dataset) -> xr.DataArray:
    """Slope of log(v(1) / v(-1)) against log(p / (1 - p)), runs that select the parent: 1/2 under the sqrt law, 1 for V ~ Pi^T."""
    ratio = last(data.value_ratio).where(right(data)).where(data[P] != 0.5, drop=True)
    ratio = xr.where(ratio[P] < 0.5, 1 / ratio, ratio)
    return np.log(ratio) / abs(np.log(ratio[P] / (1 - ratio[P])))


def draw_direction(data: xr.Dataset) -> plot.Drawing:
    """V at the last step against p, with both laws; runs that select another token are left out and counted."""
    figure, axes = plot.panels(3, width=3.8, height=3.2)
    panels = {
        "value_ratio": r"$v(1)/v(-1)$, entries of V",
        "value_direction_error": r"direction error of V against $\Pi^\top$",
        "kl": "KL(law || output), nats",
    }
    for ax, (name, label) in zip(axes[0], panels.items(), strict=True):
        end = last(data[name]).where(right(data))
        lost = int(end.isnull().sum())
        plot.series(ax, end, P, f"t = {int(data.step[-1])}" + (f" ({lost} of {end.size} runs excluded)" if lost else ""))
        for colour, (kind, text) in enumerate(
            {"theorem": "theorem", "sqrt_law": "sqrt law, t = ∞", "population": "theory, this t"}.items()
        ):
            curve = data.get(f"predicted_{name}_{kind}")
            if curve is not None:
                plot.theory(ax, data[P].values, last(curve).isel(seed=0).values, text, colour=colour + 1)
        plot.finish(ax, "probability of a step clockwise, p", label, yscale="log" if name == "value_ratio" else "linear")
    return figure


DIRECTION = Figure(
    "walk_direction",
    f"{TALK}, theorem: V/|V| -> Pi^T/|Pi^T|",
    THEORY,
    CIRCLE6,
    {
        "vary": {P: [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]},
        "seeds": 8,
        "steps": 500,
        "record": [0, 50, 500],
        "dtype": "float32",
    },
    QUICK | {"vary": {P: [0.1, 0.3, 0.5, 0.9]}, "record": [0, 10, 50]},
    (
        Claim(
            "RW-11",
            f"{TALK}, theorem",
            "V takes the direction of Pi^T: v(1)/v(-1) = (p/(1-p))^a with a = 1.",
            "refuted",
            lambda data: verdicts.mean_between(odds_exponent(data), 0.9, 1.1),
        ),
        Claim(
            "RW-12",
            "derived",
            "V takes the direction of sqrt(Pi^T), entry by entry: a = 1/2.",
            "holds",
            lambda data: verdicts.mean_between(odds_exponent(data), 0.45, 0.55),
        ),
        Claim(
            "RW-13",
            f"{TALK}, theorem",
            "K = 6, .05 <= p <= .95: attention of at least .999 on the parent (90 % of the runs).",
            "holds",
            lambda data: verdicts.mean_at_least(last(data.parent_attention) >= 0.999, 0.9),
        ),
        Claim(
            "RW-14",
            f"{TALK}, corollary",
            "The accuracy is max(p, 1 - p) where the parent is selected.",
            "holds",
            lambda data: verdicts.mean_at_least(abs(last(data.accuracy) - optimum(data)).where(right(data), 0) < 1e-5, 1.0),
        ),
    ),
    draw_direction,
)


# The rate in t

WINDOW = slice(50, 300)  # t = 50..300, within which 10000 sequences are still far from their sampling floor


def rate(values: xr.DataArray, p: float) -> xr.DataArray:
    """The exponent of t at the largest sample, per seed."""
    return statistics.slope(values.sel({P: p, "step": WINDOW}).isel({B: -1}), "step")


def rate_between(name: str, p: float) -> Callable[[xr.Dataset], Verdict]:
    """The test that the exponent of a metric lies within .05 of -1/2, over the runs that select the parent."""
    return lambda data: verdicts.mean_between(rate(data[name].where(right(data)), p), -0.55, -0.45)


def draw_rate(data: xr.Dataset) -> plot.Drawing:
    """Three errors in t for two p, solid for the largest sample; dashed: infinitely many sequences, and t^(-1/2)."""
    figure, axes = plot.panels(3, width=3.8, height=3.2)
    panels = {
        "value_direction_error_sqrt": r"direction error of V against $\sqrt{\Pi^\top}$",
        "value_direction_error": r"direction error of V against $\Pi^\top$",
        "output_error": "direction error of f against the law",
    }
    late = data.isel(step=data.step.values >= 3).where(right(data))
    for ax, (name, label) in zip(axes[0], panels.items(), strict=True):
        for i, (p, size) in enumerate((p, size) for p in data[P].values for size in data[B].values):
            plot.series(ax, late[name].sel({P: p, B: size}), "step", f"p = {p:g}, B = {size}", colour=i)
        if name == "value_direction_error":
            for i, p in enumerate(data[P].values):
                curve = late.predicted_value_direction_error_population.sel({P: p}).isel({B: -1}).max("seed")
                plot.theory(ax, late.step.values, curve.values, f"p = {p:g}, B = ∞", colour=4 + i)
        else:
            start = float(late[name].sel({P: 0.5}).isel({B: -1, "step": 0}).mean())
            plot.theory(ax, late.step.values, start * np.sqrt(float(late.step[0]) / late.step.values), r"$t^{-1/2}$")
        plot.finish(ax, "step t", label, xscale="log", yscale="log")
        ticks = [t for t in (3, 10, 30, 100, 300) if t <= late.step[-1]]
        ax.set_xticks(ticks, [str(t) for t in ticks])
        ax.tick_params(axis="x", which="minor", labelbottom=False)
    return figure


RATE = Figure(
    "walk_rate",
    f"{TALK}, theorem and corollary: O(1/sqrt T)",
    THEORY,
    CIRCLE6,
    {
        "vary": {P: [0.5, 0.7], B: [1000, 10000]},
        "seeds": 8,
        "steps": 300,
        "record": [0, 1, 2, 3, 5, 10, 20, 50, 70, 100, 140, 200, 300],
        "buckets": "exact",
        "dtype": "float32",
    },
    QUICK | {"vary": {P: [0.5, 0.7], B: [1000]}, "seeds": 4, "record": [0, 1, 2, 3, 5, 10, 20, 50]},
    # measured at B = 10000, 4 seeds: -.493 (p = .5 and .7, sqrt law), -.148 (p = .7, Pi), -.499 and -.149 (outputs); B = 20000: -.500
    (
        Claim(
            "RW-15",
            f"{TALK}, theorem",
            "p = 1/2: the direction error of V falls as t^(-1/2).",
            "holds",
            rate_between("value_direction_error", 0.5),
        ),
        Claim(
            "RW-16",
            "derived",
            "p = .7: against sqrt(Pi^T) it falls as t^(-1/2), too.",
            "holds",
            rate_between("value_direction_error_sqrt", 0.7),
        ),
        Claim(
            "RW-17",
            f"{TALK}, theorem",
            "p = .7: against Pi^T it falls as t^(-1/2).",
            "refuted",
            rate_between("value_direction_error", 0.7),
        ),
        Claim(
            "RW-18",
            f"{TALK}, corollary",
            "p = 1/2: the output's direction error falls as t^(-1/2), the law normalised as the output is.",
            "holds",
            rate_between("output_error", 0.5),
        ),
        Claim(
            "RW-19",
            f"{TALK}, corollary",
            "p = .7: the output's direction error falls as t^(-1/2).",
            "refuted",
            rate_between("output_error", 0.7),
        ),
    ),
    draw_rate,
)

FIGURES = (CIRCLES, FAILURE, DIRECTION, RATE)
