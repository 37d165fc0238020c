"""Tests under distribution shift in arXiv 2411.10830, the plane of (xi1, xi2), and how far finitely many prompts are from it."""

from pathlib import Path

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, statistics, verdicts
from jaxtheory.theories.nearest_neighbor import Config

MAIN = jaxtheory.theories.load(Path(__file__).with_name("nearest_neighbor.py"))
THEORY, PAPER, QUICK, last = MAIN.THEORY, MAIN.PAPER, MAIN.QUICK, MAIN.last
each_at_most, each_between = MAIN.each_at_most, MAIN.each_between
DELTA, SIGMA, XI0, B = "separation", "mask", "initial_alignment", "num_prompts"


# Under shift


def draw_shift(data: xr.Dataset) -> plot.Drawing:
    """Error in t for every delta with its bound, a panel per setting; the largest error over both bounds."""
    figure, axes = plot.panels(
        data.sizes["setting"] + 1, title="Tests under shift by δ: flipped examples are min(δ, 4 − δ) away", width=4.1, height=3.4
    )
    late = data.isel(step=data.step.values >= 1)
    for ax, setting in zip(axes[0], data.setting.values, strict=False):
        for i, delta in enumerate(data[DELTA].values):
            runs = late.sel({"setting": setting, DELTA: delta})
            plot.series(ax, runs.shift_error, "step", f"δ = {delta:g}", colour=i, markers=False)
            plot.theory(ax, late.step.values, runs.shift_bound.mean("seed").values, "bound" if not i else "", colour=i)
        plot.finish(
            ax, "step t", r"mean $(f - y_{i^*})^2$, $q = x_{i^*}$", str(setting), xscale="log", yscale="log", legend=ax is axes[0, 0]
        )
        ax.set_ylim(1e-7, 3)
    ax = axes[0, -1]
    for i, setting in enumerate(data.setting.values):
        for name, label, line in (("early_bound_ratio", "", "--"), ("bound_ratio", str(setting), "-")):
            worst = data[name].sel(setting=setting).max(["step", "seed"])
            ax.plot(data[DELTA].values, worst, line, color=plot.COLOURS[i], label=label)
    ax.axhline(1, color="#333333", linewidth=0.8)
    plot.finish(ax, "separation δ", r"largest $|f - y_{i^*}|$ / bound", "solid: bound; dashed: at t* = 1", yscale="log")
    ax.set_ylim(1e-2, 1e15)
    return figure


ROWS = [MAIN.ROWS[0], MAIN.ROWS[2], MAIN.ROWS[3]]


def at(data: xr.Dataset, delta: float) -> xr.Dataset:
    """One separation at the last step."""
    return data.sel({DELTA: delta}).isel(step=-1)


SHIFT = Figure(
    "neighbor_shift",
    f"{PAPER}, theorem on distribution shift and appendix B",
    THEORY,
    Config(),
    {
        "zip": MAIN.settings(ROWS),
        "vary": {DELTA: [0.05, 0.1, 0.3, 1.0, 2.0, 3.5]},
        "seeds": 8,
        "steps": 2000,
        "record": MAIN.STEPS,
        "dtype": "float32",
    },
    QUICK | {"zip": MAIN.settings(ROWS[:2]), "vary": {DELTA: [0.1, 2.0]}},
    (
        Claim(
            "NN-19",
            "derived",
            "|f - y| stays below 2 R N exp(-xi1 delta / 2) + R exp(-(xi2 - xi1 (1 - t*))) on every prompt (to rounding, 1e-5).",
            "holds",
            lambda d: each_at_most(d.bound_ratio, 1 + 1e-5, d.sizes["seed"]),
            minimum=2,
        ),
        Claim(
            "NN-20",
            f"{PAPER}, theorem on shift, reconstructed",
            "It stays below R (2 N exp(-xi1 delta / 2) + exp(-xi2)) for any query.",
            "refuted",
            lambda d: each_at_most(d.early_bound_ratio, 1.0, d.sizes["seed"]),  # up to 1e10
        ),
        Claim(
            "NN-21",
            "derived",
            "Where q = x_{i*} the mean squared error is below 2 ((N - 1) exp(-xi1 delta / 2) + exp(-xi2))^2, or 2.",
            "holds",
            lambda d: each_at_most(d.shift_error / d.shift_bound, 1.0, d.sizes["seed"]),
            minimum=2,
        ),
        Claim(
            "NN-22",
            f"{PAPER}, appendix B",
            "At every delta the error under shift falls from each recorded step to the next.",
            "holds",
            lambda d: each_at_most(d.shift_error.mean("seed").diff("step"), 0.0, d.sizes["seed"]),
        ),
        Claim(
            "NN-23",
            f"{PAPER}, appendix B: delta = .1",
            "At delta = .1, t = 2000 it is at most .035 (d = N = 4), .001 (d = 8, N = 16), .016 (d = 3, N = 8): largest ratio.",
            "holds",
            lambda d: each_at_most(
                at(d, 0.1).shift_error.mean("seed") / xr.DataArray([0.035, 0.001, 0.016], dims="setting"), 1.0, d.sizes["seed"]
            ),
        ),
        Claim(
            "NN-24",
            f"{PAPER}, theorem on shift",
            "The bound tells something at delta = .1 by t = 2000: it is below 1.",
            "refuted",
            lambda d: verdicts.at_most(at(d, 0.1).shift_bound, 1.0),
        ),
        Claim(
            "NN-25",
            f"{PAPER}, theorem on shift",
            "At delta = 1, t = 2000 it is below .02.",
            "holds",
            lambda d: verdicts.at_most(at(d, 1.0).shift_bound, 0.02),
        ),
    ),
    draw_shift,
)


# The plane of (xi1, xi2), on infinitely many prompts


def flow(data: xr.Dataset, name: str) -> xr.DataArray:
    """d xi / (eta dt) at the start of each run: its first step, over eta."""
    return (data[name].sel(step=1) - data[name].sel(step=0)).isel(seed=0, drop=True) / 10.0


def draw_plane(data: xr.Dataset) -> plot.Drawing:
    """Level lines of the loss with the directions of the flow; runs from the left edge and from the others."""
    figure, axes = plot.panels(2, title="d = N = 4, infinitely many prompts", width=4.6, height=3.8)
    start = data.isel(seed=0, step=0)
    x, y = data[XI0].values, data[SIGMA].values
    loss = 2 * start.population_loss.transpose(SIGMA, XI0).values
    u, v = (flow(data, name).transpose(SIGMA, XI0).values for name in ("xi1", "xi2"))
    length = np.hypot(u, v)
    ax = axes[0, 0]
    levels = ax.contourf(x, y, loss, levels=np.linspace(0, 1, 21), cmap="cividis")
    ax.figure.colorbar(levels, ax=ax, label="2 L")
    inner = (slice(None, -1), slice(None, -1))
    ax.quiver(x[:-1], y[:-1], (u / length)[inner], (v / length)[inner], color="white", width=0.004)
    plot.finish(ax, r"$\xi_1$", r"$\xi_2$", "direction of the flow", legend=False)
    ax = axes[0, 1]
    for sigma in y:
        for xi0 in x[:: max(1, len(x) // 4)]:
            run = data.sel({SIGMA: sigma, XI0: xi0}).isel(seed=0)
            ax.plot(run.xi1, run.xi2, color=plot.COLOURS[0], linewidth=0.7)
    late = data.isel(seed=0, step=data.step.values > 0).sel({XI0: 0.0}).isel({SIGMA: 0})
    plot.theory(ax, late.predicted_xi1_valley.values, late.predicted_xi2_valley.values, "valley", colour=1)
    plot.finish(ax, r"$\xi_1$", r"$\xi_2$", f"runs of {int(data.step[-1])} steps, η = 10")
    return figure


PLANE = Figure(
    "neighbor_plane",
    f"{PAPER}, proposition on the form of W; d = N = 4 at second hand",
    THEORY,
    Config(num_prompts=10, num_test=10, learning_rate=10.0),
    {
        "vary": {XI0: [float(v) for v in range(0, 13, 2)], SIGMA: [float(v) for v in range(0, 13, 2)]},
        "algorithm": "population",
        "steps": 300,
        "record": [0, 1, 2, 4, 7, 10, 15, 20, 30, 40, 55, 75, 100, 140, 200, 300],
        "dtype": "float64",
    },
    {"vary": {XI0: [0.0, 6.0], SIGMA: [0.0, 6.0]}},
    (
        Claim(
            "NN-26",
            "derived",
            "xi2 grows from every point.",
            "holds",
            lambda d: Verdict(float(flow(d, "xi2").min()) > 0, float(flow(d, "xi2").min()), 0.0, flow(d, "xi2").size),
            minimum=1,
        ),
        Claim(
            "NN-27",
            f"{PAPER}, proposition on the form of W, read as xi1 growing",
            "xi1 grows from every point.",
            "refuted",
            lambda d: Verdict(float(flow(d, "xi1").min()) > 0, float(flow(d, "xi1").min()), 0.0, flow(d, "xi1").size),
            minimum=1,
        ),
        Claim(
            "NN-28",
            "the talk: softmax is near a hardmax as xi1 >> xi2",
            "xi1 = 12 and xi2 = 0 select the nearest example: 2 L <= .2.",
            "refuted",
            lambda d: verdicts.at_most(2 * d.population_loss.isel({"step": 0, XI0: -1, SIGMA: 0}), 0.2),
            minimum=1,
        ),
        Claim(
            "NN-29",
            "derived",
            "From every start 300 steps at eta = 10 lead into the valley: xi2 / xi1.",
            "holds",
            lambda d: each_between(last(d.xi2 / d.xi1), 1.33, 1.49),
            minimum=1,
        ),
    ),
    draw_plane,
)


# Finitely many prompts

ROUTES = {
    "W": ("literal", "averaged"),
    "W, labels N(0, 1)": ("literal", "gaussian"),
    "ξ": ("reduced", "averaged"),
    "ξ, fresh prompts": ("online", "averaged"),
    "ξ, B = ∞": ("population", "averaged"),
}


def routes(*names: str) -> dict[str, list]:
    """Routes as one labelled axis."""
    return {"route": list(names), "algorithm": [ROUTES[n][0] for n in names], "labels": [ROUTES[n][1] for n in names]}


def draw_structure(data: xr.Dataset) -> plot.Drawing:
    """Distance of W from its structure against the number of prompts; xi1 of each route; the query's logit."""
    figure, axes = plot.panels(3, title=f"d = N = 4, t = {int(data.step[-1])}, {data.sizes['seed']} seeds", width=4.0, height=3.4)
    end = last(data)
    for i, route in enumerate(r for r in data.route.values if str(r).startswith("W")):
        plot.series(axes[0, 0], end.off_structure.sel(route=route), B, str(route), colour=i, markers=True)
    first = end.off_structure.sel(route="W").mean("seed")
    plot.theory(axes[0, 0], data[B].values, float(first[0]) * (data[B].values / float(data[B][0])) ** -0.5, r"$B^{-1/2}$")
    plot.finish(axes[0, 0], "prompts B", r"$\|W - $diag$(\xi_1 I, 0, -\xi_2)\|_F$", xscale="log", yscale="log")
    for i, route in enumerate(data.route.values):
        plot.series(axes[0, 1], end.xi1.sel(route=route), B, str(route), colour=i, markers=True)
    plot.finish(axes[0, 1], "prompts B", r"$\xi_1 = $ tr $W_{11}$ / d", xscale="log")
    runs = data.sel(route="W").isel({B: -1})
    plot.series(axes[0, 2], runs.query_logit, "step", r"$h_q^\top W h_q$", markers=False)
    for colour, (values, text) in enumerate(((runs.xi1 - runs.xi2, r"$\xi_1 - \xi_2$"), (-runs.xi2, r"$-\xi_2$, the talk's")), start=1):
        plot.theory(axes[0, 2], data.step.values, values.mean("seed").values, text, colour=colour)
    plot.finish(axes[0, 2], "step t", "logit of the query", f"B = {int(data[B][-1])}")
    for ax in axes[0, :2]:
        ax.set_xticks(data[B].values, [str(v) for v in data[B].values])
        ax.set_xticks([], minor=True)
    return figure


def ratio_of_means(data: xr.Dataset) -> xr.DataArray:
    """The mean distance of W with 500 prompts over that with 2000, the same number for every seed."""
    distance = last(data.off_structure).sel(route="W")
    return (distance.sel({B: 500}).mean("seed") / distance.sel({B: 2000}).mean("seed")).expand_dims(seed=data.seed)


def exponent_in_prompts(data: xr.Dataset) -> xr.DataArray:
    """Exponent of B in the mean distance of W, per route, the same number for every seed."""
    distance = last(data.off_structure).sel(route=[r for r in data.route.values if str(r).startswith("W")])
    return statistics.slope(distance.mean("seed"), B).expand_dims(seed=data.seed)


STRUCTURE = Figure(
    "neighbor_structure",
    f"{PAPER}, proposition on the form of W",
    THEORY,
    Config(),
    {
        "zip": routes(*ROUTES),
        "vary": {B: [500, 2000, 8000]},
        "seeds": 16,
        "steps": 300,
        "record": [0, 20, 40, 70, 100, 150, 200, 300],
        "dtype": "float32",
        "buckets": "pad",
    },
    QUICK | {"zip": routes("W", "ξ"), "vary": {B: [500]}},
    (
        Claim(
            "NN-30",
            f"{PAPER}, proposition on the form of W: of the population",
            "W is twice as far from diag(xi1 I, 0, -xi2) with 500 prompts as with 2000.",
            "holds",
            lambda d: verdicts.mean_between(ratio_of_means(d), 1.5, 2.5),
        ),
        Claim(
            "NN-31",
            "derived",
            "The distance falls as B^(-1/2), with averaged and with drawn labels: exponent.",
            "holds",
            lambda d: each_between(exponent_in_prompts(d), -0.65, -0.35),
        ),
        Claim(
            "NN-32",
            f"{PAPER}, proposition on the form of W: of the population",
            "With 2000 prompts the largest entry off the diagonal is at most .25.",
            "holds",
            lambda d: verdicts.at_most(last(d.off_diagonal).sel({"route": "W", B: 2000}), 0.25),
        ),
        Claim(
            "NN-33",
            f"{PAPER}, proposition on the form of W: of the population",
            "And diag W_11 spreads by at most .3.",
            "holds",
            lambda d: verdicts.at_most(last(d.diagonal_spread).sel({"route": "W", B: 2000}), 0.3),
        ),
        Claim(
            "NN-34",
            "the talk: the query's logit is -xi2",
            "h_q^T W h_q is -xi2, within .1.",
            "refuted",
            lambda d: verdicts.at_most(abs(last(d.query_logit + d.xi2)).sel(route="W"), 0.1),  # 3.85 = xi1
        ),
        Claim(
            "NN-35",
            "derived",
            "It is xi1 - xi2, within .02.",
            "holds",
            lambda d: verdicts.at_most(abs(last(d.query_logit - d.xi1 + d.xi2)).sel(route="W"), 0.02),
        ),
        Claim(
            "NN-36",
            "derived",
            "With 8000 prompts xi1 is that of infinitely many, within 2 %, on each route.",
            "holds",
            lambda d: each_between(last(d.xi1 / d.xi1.sel(route="ξ, B = ∞")).isel({B: -1}), 0.98, 1.02),
        ),
    ),
    draw_structure,
)

FIGURES = (SHIFT, PLANE, STRUCTURE)
