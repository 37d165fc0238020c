"""Training of the nearest-neighbour layer in arXiv 2411.10830: curves over (d, N), the mask sigma, N against sqrt(d) log d.

The source's d, N, eta and sigma are lost, so the settings are ours; 2000 steps are at second hand. Thresholds come from the exact
population and from runs on keys 100 to 102, widened; comments say what was measured.
"""

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, statistics, verdicts
from jaxtheory.theories.nearest_neighbor import Config

THEORY = jaxtheory.theories.get("nearest_neighbor")
PAPER = "arXiv 2411.10830"
D, N, ETA, SIGMA = "dimension", "context", "learning_rate", "mask"
ROWS = [(4, 4, 5.0, 1.0), (4, 16, 5.0, 1.0), (8, 16, 5.0, 10.0), (3, 8, 5.0, 10.0), (16, 32, 8.0, 10.0), (8, 16, 5.0, 1.0)]


def settings(rows: list[tuple[int, int, float, float]]) -> dict[str, list]:
    """Settings (d, N, sigma, eta) as one labelled axis."""
    columns = dict(zip((D, N, SIGMA, ETA), map(list, zip(*rows, strict=True)), strict=True))
    return {"setting": [f"d={d}, N={n}, σ={s:g}, η={e:g}" for d, n, s, e in rows]} | columns


STEPS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000]
# Quick figures share shapes, hence a compilation per algorithm.
SMALL = Config(num_prompts=500, num_test=200)
QUICK = {"config": SMALL, "seeds": 2, "steps": 100, "record": [0, 10, 20, 50, 75, 100], "dtype": "float32", "buckets": "pad"}


# What claims measure


def last(values: xr.DataArray) -> xr.DataArray:
    """The values at the last recorded step."""
    return values.isel(step=-1)


def each_at_most(values: xr.DataArray, threshold: float, seeds: int) -> Verdict:
    """No entry exceeds the threshold; entries are of runs or of means over `seeds` of them."""
    worst = float(values.max())
    return Verdict(worst <= threshold, worst, threshold, seeds)


def each_between(values: xr.DataArray, low: float, high: float) -> Verdict:
    """The mean over seeds lies in [low, high] along all other dimensions (NaN left out); measured is the mean farthest from the middle."""
    mean = values.mean("seed").values.ravel()
    mean = mean[np.isfinite(mean)]
    worst = float(mean[np.argmax(abs(mean - (low + high) / 2))]) if mean.size else np.nan
    return Verdict(low <= worst <= high, worst, f"[{low:g}, {high:g}]", values.sizes["seed"])


def late_slope(values: xr.DataArray) -> xr.DataArray:
    """Exponent of t from t = 500 on."""
    return statistics.slope(values.sel(step=slice(500, None)), "step")


def converged(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values where 2 L(500) <= .21 on average."""
    return values.where(2 * data.loss.sel(step=500, drop=True).mean("seed") <= 0.21)


def learned(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values where 2 L <= .25 on average at the last step."""
    return values.where(2 * last(data.loss).mean("seed").drop_vars("step") <= 0.25)


# Curves over (d, N)

PANELS = {"test_loss": r"2 L, mean $(f - y_{i^*})^2$ on test prompts", "xi1": r"$\xi_1$", "xi2": r"$\xi_2$"}


def draw_training(data: xr.Dataset) -> plot.Drawing:
    """Loss and both parameters in t for every setting; dashed: what near ties predict."""
    figure, axes = plot.panels(3, title=f"Gradient descent from $\\xi_1 = 0$, {data.sizes['seed']} seeds", width=4.2, height=3.6)
    late = data.isel(step=data.step.values >= 1)
    for ax, (name, label) in zip(axes[0], PANELS.items(), strict=True):
        loss = name == "test_loss"
        for i, setting in enumerate(data.setting.values):
            runs = late.sel(setting=setting)
            plot.series(ax, (2 if loss else 1) * runs[name], "step", str(setting), colour=i, markers=False)
            law = runs["predicted_test_loss_law" if loss else f"predicted_{name}_valley"].isel(seed=0)
            plot.theory(ax, late.step.values, (2 if loss else 1) * law.where(late.step >= 50).values, "", colour=i)
        title = "dashed: near ties, $t^{-1/3}$" if loss else "dashed: valley, $t^{1/3}$"
        plot.finish(ax, "step t", label, title, xscale="log", yscale="log", legend=name == "xi2")
    return figure


def tie_share(data: xr.Dataset) -> xr.DataArray:
    """L xi1 / (C p(0)) at the last step."""
    return last(data.test_loss * data.xi1 / (data.predicted_test_loss_law * data.predicted_xi1_law))


def valley_share(data: xr.Dataset) -> xr.DataArray:
    """xi1 and xi2 over the valley's at the last step."""
    return last(xr.concat([data.xi1 / data.predicted_xi1_valley, data.xi2 / data.predicted_xi2_valley], "xi"))


TRAINING = Figure(
    "neighbor_training",
    f"{PAPER}, theorem; settings ours",
    THEORY,
    Config(),
    {"zip": settings(ROWS), "seeds": 8, "steps": 2000, "record": STEPS, "dtype": "float32"},
    QUICK | {"zip": settings(ROWS[:1] + ROWS[3:4])},
    (
        Claim(
            "NN-1",
            f"{PAPER}, theorem",
            "The loss falls from each recorded step to the next.",
            "holds",
            lambda d: each_at_most(d.loss.diff("step"), 0.0, d.sizes["seed"]),
            minimum=2,
        ),
        Claim(
            "NN-2",
            f"{PAPER}, proposition on the form of W; xi2 derived",
            "xi1 > 0 from the first step on, and xi2 never falls (by more than rounding, 1e-5).",
            "holds",
            lambda d: verdicts.mean_at_least(((d.xi1.isel(step=slice(1, None)) > 0) & (d.xi2.diff("step") >= -1e-5)).all("step"), 1.0),
            minimum=2,
        ),
        Claim(
            "NN-3",
            "derived",
            "xi1 grows as t^(1/3): exponent from t = 500 on, where 2 L(500) <= .21.",
            "holds",
            lambda d: each_between(converged(d, late_slope(d.xi1)), 0.30, 0.40),  # .339, .359, .336
        ),
        Claim(
            "NN-4",
            "derived",
            "The loss falls as t^(-1/3): exponent from t = 500 on, where 2 L(500) <= .21.",
            "holds",
            lambda d: each_between(converged(d, late_slope(d.test_loss)), -0.42, -0.28),  # -.338, -.384, -.329
        ),
        Claim(
            "NN-5",
            "derived",
            "Near ties make the loss: L xi1 / (C p(0)) at t = 2000, where 2 L <= .25.",
            "holds",
            lambda d: each_between(learned(d, tie_share(d)), 0.9, 1.25),  # 1.01 to 1.12
        ),
        Claim(
            "NN-6",
            "derived",
            "xi1 over its law (3 C p(0) eta t / d)^(1/3) at t = 2000, where 2 L <= .25.",
            "holds",
            lambda d: each_between(learned(d, last(d.xi1 / d.predicted_xi1_law)), 0.82, 1.08),  # .88 to 1.01
        ),
        Claim(
            "NN-7",
            "derived",
            "xi1 and xi2 over the valley's, which has d + (xi2 / xi1)^2 in place of d, at t = 2000, where 2 L <= .25.",
            "holds",
            lambda d: each_between(learned(d, valley_share(d)), 0.88, 1.12),  # .93 to 1.08
        ),
        Claim(
            "NN-8",
            "derived",
            "The test loss over its law C p(0) / xi1 at t = 2000, where 2 L <= .25.",
            "holds",
            lambda d: each_between(learned(d, last(d.test_loss / d.predicted_test_loss_law)), 1.0, 1.27),  # 1.06 to 1.20
        ),
        Claim(
            "NN-9",
            "the talk: softmax is near a hardmax as xi1 >> xi2",
            "xi1 is at least twice xi2 at t = 2000, in every setting.",
            "refuted",
            lambda d: verdicts.at_least(last(d.xi1 / d.xi2), 2.0),  # .73 to 1.46
        ),
        Claim(
            "NN-10",
            f"{PAPER}, experiments",
            "The output has the sign of exact one-nearest-neighbour prediction on 97 % of the prompts at t = 2000, where 2 L(500) <= .21.",
            "holds",
            lambda d: verdicts.at_least(converged(d, last(d.agreement)), 0.97),  # .986 to .995
        ),
    ),
    draw_training,
)


# The mask


def draw_mask(data: xr.Dataset) -> plot.Drawing:
    """Loss, xi2 and the query's attention for every sigma, a row per setting."""
    panels = {"test_loss": "2 L on test prompts", "xi2": r"$\xi_2$", "query_attention": r"attention on the query, mean $s_q$"}
    figure, axes = plot.panels(3, data.sizes["setting"], title="The initial mask σ", width=3.8, height=2.8)
    late = data.isel(step=data.step.values >= 1)
    for row, setting in enumerate(data.setting.values):
        for ax, (name, label) in zip(axes[row], panels.items(), strict=True):
            for i, sigma in enumerate(data[SIGMA].values):
                runs = late[name].sel({"setting": setting, SIGMA: sigma})
                plot.series(ax, (2 if name == "test_loss" else 1) * runs, "step", f"σ = {sigma:g}", colour=i, markers=False)
            if name == "xi2":
                law = late.predicted_xi2_valley.sel(setting=setting).isel({SIGMA: 0, "seed": 0})
                plot.theory(ax, late.step.values, law.where(late.step >= 50).values, "valley")
            plot.finish(ax, "step t", label, str(setting), xscale="log", yscale="linear" if name == "xi2" else "log", legend=name == "xi2")
    return figure


def without_sigma(rows: list[tuple[int, int, float, float]]) -> dict[str, list]:
    """Settings (d, N, eta)."""
    zipped = settings(rows)
    return {"setting": [f"d={d}, N={n}, η={e:g}" for d, n, _, e in rows]} | {name: zipped[name] for name in (D, N, ETA)}


def spread_over_masks(data: xr.Dataset) -> xr.DataArray:
    """The largest mean loss over the least, among masks, at the last step."""
    mean = last(data.test_loss).mean("seed")
    return mean.max(SIGMA) / mean.min(SIGMA)


def self_attention(data: xr.Dataset, sigma: float) -> xr.DataArray:
    """The query's attention to itself at one sigma."""
    return data.query_attention.sel({SIGMA: sigma})


MASK = Figure(
    "neighbor_mask",
    f"{PAPER}, theorem: sigma = Omega(poly(d))",
    THEORY,
    Config(),
    {
        "zip": without_sigma([ROWS[0], ROWS[2]]),
        "vary": {SIGMA: [0.0, 1.0, 5.0, 10.0]},
        "seeds": 8,
        "steps": 2000,
        "record": STEPS,
        "dtype": "float32",
    },
    QUICK | {"zip": without_sigma(ROWS[:1]), "vary": {SIGMA: [0.0, 5.0]}},
    (
        Claim(
            "NN-11",
            f"{PAPER}, theorem, its condition read as needed",
            "Without a mask the layer is not trained: 2 L(2000) >= .3 at sigma = 0.",
            "refuted",
            lambda d: verdicts.at_least(2 * last(d.test_loss).sel({SIGMA: 0.0}), 0.3),  # .12
        ),
        Claim(
            "NN-12",
            "derived: the valley",
            "All masks lead to one loss: at t = 2000 the largest mean over the least is at most 1.2.",
            "holds",
            lambda d: each_at_most(spread_over_masks(d), 1.2, d.sizes["seed"]),  # 1.09
        ),
        Claim(
            "NN-13",
            "the talk: the mask keeps the query from attending to itself",
            "At sigma = 0 the query's attention to itself first rises, by 5 % or more.",
            "holds",
            lambda d: verdicts.at_least(self_attention(d, 0.0).max("step") / self_attention(d, 0.0).isel(step=0), 1.05),
        ),
        Claim(
            "NN-14",
            "the talk: the mask keeps the query from attending to itself",
            "At sigma = 10 it stays below .02.",
            "holds",
            lambda d: verdicts.at_most(self_attention(d, 10.0).max("step"), 0.02),
        ),
    ),
    draw_mask,
)


# N against sqrt(d) log d, on the exact population: no seeds


def context_exponent(data: xr.Dataset) -> xr.DataArray:
    """Exponent of the loss in t from t = 500 on."""
    return late_slope(data.population_loss)


def condition(data: xr.Dataset) -> xr.DataArray:
    """N / (sqrt(d) log d)."""
    return data[N] / (data[D] ** 0.5 * np.log(data[D]))


def below(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values where N < sqrt(d) log d."""
    return values.where(condition(data) < 1)


def most_left(data: xr.Dataset, share: float) -> Verdict:
    """The largest L / L(0) at the last step where N < sqrt(d) log d is at least `share`."""
    left = below(data, last(data.population_loss) / data.population_loss.isel(step=0, drop=True))
    return Verdict(float(left.max()) >= share, float(left.max()), share, int(left.notnull().sum()))


def draw_context(data: xr.Dataset) -> plot.Drawing:
    """Loss in t for one d; the last loss and the late exponent over d and N."""
    figure, axes = plot.panels(3, title="Infinitely many prompts, η = d, σ = 8", width=4.2, height=3.2)
    data = data.isel(seed=0)
    late = data.population_loss.isel(step=data.step.values >= 1, dim=-1)
    for i, n in enumerate(data[N].values):
        plot.series(axes[0, 0], 2 * late.sel({N: n}), "step", f"N = {n}", colour=i, markers=False)
        law = 2 * data.predicted_loss_law.sel({N: n}).isel(dim=-1, step=data.step.values >= 1)
        plot.theory(axes[0, 0], late.step.values, law.where(late.step >= 20).values, "", colour=i)
    plot.finish(axes[0, 0], "step t", "2 L", f"d = {int(data[D][-1])}; dashed: near ties", xscale="log", yscale="log")
    for ax, values, label in (
        (axes[0, 1], 2 * last(data.population_loss), "2 L at the end"),
        (axes[0, 2], late_slope(data.population_loss), "exponent of t"),
    ):
        plot.heat(ax, values, N, "dim", label=label)
        plot.finish(ax, "examples in a prompt, N", "dimension d", "left of the line: N < √d log d")
        edge = np.array([sum(float(condition(data).sel({N: n}).isel(dim=k)) < 1 for n in data[N].values) for k in range(data.sizes["dim"])])
        ax.step(np.repeat(edge, 2), np.repeat(np.arange(len(edge) + 1), 2)[1:-1], color="#D55E00", linewidth=2)
    return figure


CONTEXT = Figure(
    "neighbor_context",
    f"{PAPER}, theorem: N = Omega(sqrt(d) log d)",
    THEORY,
    Config(num_prompts=100, num_test=100, mask=8.0),
    {
        "zip": {"dim": [3, 8, 16, 32], D: [3, 8, 16, 32], ETA: [3.0, 8.0, 16.0, 32.0]},
        "vary": {N: [2, 4, 8, 16, 32]},
        "algorithm": "population",
        "steps": 1000,
        "record": [0, 1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1000],
        "dtype": "float64",
        "buckets": "pad",
    },
    {"vary": {N: [4, 8]}, "zip": {"dim": [3, 8], D: [3, 8], ETA: [3.0, 8.0]}},
    (
        Claim(
            "NN-15",
            f"{PAPER}, theorem, its condition read as needed",
            "Below N = sqrt(d) log d there are layers that are not trained: L(1000) >= L(0) / 2, for the largest ratio.",
            "refuted",
            lambda d: most_left(d, 0.5),
            minimum=1,
        ),
        Claim(
            "NN-16",
            "derived",
            "There, too, the loss falls as a power of t: exponent from t = 500 on.",
            "holds",
            lambda d: each_between(below(d, late_slope(d.population_loss)), -0.65, -0.28),
            minimum=1,
        ),
        Claim(
            "NN-17",
            "derived",
            "Longer prompts take longer, at every d: L(1000) grows with N.",
            "holds",
            lambda d: verdicts.at_least(last(d.population_loss).diff(N), 0.0),
            minimum=1,
        ),
        Claim(
            "NN-18",
            "derived",
            "xi1 and xi2 over the valley's at t = 1000, where 2 L <= .21.",
            "holds",
            lambda d: each_between(valley_share(d).where(2 * last(d.population_loss) <= 0.21), 0.87, 1.1),
            minimum=1,
        ),
    ),
    draw_context,
)

FIGURES = (TRAINING, MASK, CONTEXT)
