"""Training of the nearest-neighbour layer in arXiv 2411.10830: curves over (d, N), the mask sigma, N against sqrt(d) log d.

The source's d, N, eta and sigma are lost, so the settings are ours; 2000 steps are at second hand. Thresholds come from the exact population and
from runs on keys 100 to 102, widened.
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
    """The mean over seeds lies in [low, high] along all other dimensions; measured is the mean farthest out."""
    mean = statistics.average(values).mean.values.ravel()
    mean = mean[np.isfinite(mean)]
    worst = float(mean[np.argmax(abs(mean - (low + high) / 2))])
    return Verdict(low <= worst <= high, worst, f"[{low:g}, {high:g}]", values.sizes["seed"])


def late_slope(values: xr.DataArray) -> xr.DataArray:
    """Exponent of t from t = 500 on."""
    return statistics.slope(values.sel(step=slice(500, None)), "step")


def converged(data: xr.Dataset) -> xr.DataArray:
    """Settings of which 2 L(500) <= .21 on average."""
    return (2 * data.loss.sel(step=500).mean("seed") <= 0.21).drop_vars("step")


# Curves over (d, N)

PANELS = {"test_loss": r"2 L, mean $(f - y_{i^*})^2$ on test prompts", "xi1": r"$\xi_1$", "xi2": r"$\xi_2$"}


def draw_training(data: xr.Dataset) -> plot.Drawing:
    """Loss and both parameters in t for every setting; dashed: power laws, for xi the ones with the query's tie."""
    figure, axes = plot.panels(3, title=f"Gradient descent from $\\xi_1 = 0$, {data.sizes['seed']} seeds", width=4.0, height=3.4)
    late = data.isel(step=data.step.values >= 1)
    for ax, (name, label) in zip(axes[0], PANELS.items(), strict=True):
        factor = 2 if name == "test_loss" else 1
        for i, setting in enumerate(data.setting.values):
            runs = late.sel(setting=setting)
            plot.series(ax, factor * runs[name], "step", str(setting), colour=i, markers=False)
            law = runs["predicted_test_loss_law" if name == "test_loss" else f"predicted_{name}_valley"].isel(seed=0)
            text = "" if i else ("near ties" if name == "test_loss" else "valley")
            far = late.step >= (200 if name == "test_loss" else 50)
            plot.theory(ax, late.step.values, factor * law.where(far).values, text, colour=i)
        plot.finish(ax, "step t", label, xscale="log", yscale="log", legend=name != "xi2")
    return figure


TRAINING = Figure(
    "neighbor_training",
    f"{PAPER}, theorem; settings ours",
    THEORY,
    Config(),
    {"zip": settings(ROWS), "seeds": 8, "steps": 2000, "record": STEPS, "dtype": "float32"},
    QUICK | {"zip": settings(ROWS[:1] + ROWS[3:4])},
    (),
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
    (),
    draw_mask,
)


# N against sqrt(d) log d, on the exact population: no seeds


def context_exponent(data: xr.Dataset) -> xr.DataArray:
    """Exponent of the loss in t from t = 500 on."""
    return late_slope(data.population_loss)


CONTEXT = Figure(
    "neighbor_context",
    f"{PAPER}, theorem: N = Omega(sqrt(d) log d)",
    THEORY,
    Config(num_prompts=2000, num_test=4000, mask=8.0),
    {
        "zip": {"dim": [3, 8, 16, 32], D: [3, 8, 16, 32], ETA: [3.0, 8.0, 16.0, 32.0]},
        "vary": {N: [2, 4, 8, 16, 32]},
        "algorithm": "population",
        "steps": 1000,
        "record": [0, 1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1000],
        "dtype": "float64",
        "buckets": "pad",
    },
    QUICK,
    (),
    draw_mask,
)

FIGURES = (TRAINING, MASK)
