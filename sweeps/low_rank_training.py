"""arXiv 2406.17167 along training: when attention learns, how long fitting takes, LoRA, and the laws of gradient flow."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Figure, Verdict, plot, verdicts
from jaxtheory.theories.low_rank import Config, analyses

MAIN = jaxtheory.theories.load(Path(__file__).with_name("low_rank.py"))
THEORY, PAPER, claim, last = MAIN.THEORY, MAIN.PAPER, MAIN.claim, MAIN.last
LEAN = MAIN.only()
NAMES = ("loss", "relevant_attention", "relevant_query_attention")


def gain(data: xr.Dataset) -> xr.DataArray:
    """The attention of relevant queries on relevant tokens, end minus start."""
    return last(data.relevant_query_attention) - data.relevant_query_attention.isel(step=0, drop=True)


# When attention learns


def draw_attention(data: xr.Dataset) -> plot.Drawing:
    """What attention gains over delta and xi, for both readings of A; the loss is small in every cell."""
    worst = float(last(data.loss).mean("seed").max())
    figure, axes = plot.panels(2, title=f"When does attention learn? {data.sizes['seed']} seeds, test loss at most {worst:.2g}", width=4.0)
    for ax, reading in zip(axes[0], data.output.values, strict=False):
        values = gain(data).mean("seed").sel(output=reading)
        plot.heat(ax, values, "init_diagonal", "output_scale", label="gain of attention", span=(0, 0.5))
        plot.finish(ax, "δ", "ξ", {"shared": "one a for all positions", "per_token": "one a per position"}[str(reading)], legend=False)
    return figure


ATTENTION = Figure(
    "attention_start",
    f"{PAPER}, figure 1B: delta and xi",
    LEAN,
    Config(learning_rate=3.0),
    {
        "vary": {"output": ["shared", "per_token"], "init_diagonal": [0.01, 0.1, 0.2], "output_scale": [0.01, 0.1, 0.3]},
        "seeds": 8,
        "steps": 160,
        "record": {name: [0, 160] for name in NAMES},
        "dtype": "float32",
    },
    {"vary": {"output": ["shared"], "init_diagonal": [0.1], "output_scale": [0.1]}, "seeds": 2},
    (
        claim(
            68,
            "measured: a slow value path lets attention learn",
            "xi = .1, delta >= .1: relevant queries gain at least .2 more attention with one a per position than with one for all.",
            "holds",
            lambda d: verdicts.at_least(
                (gain(d).sel(output="per_token") - gain(d).sel(output="shared")).sel(output_scale=0.1, init_diagonal=[0.1, 0.2]), 0.2
            ),
        ),
        claim(
            69,
            "measured",
            "With one a for all positions it gains at most .1 at delta <= .1.",
            "holds",
            lambda d: verdicts.at_most(gain(d).sel(output="shared", init_diagonal=[0.01, 0.1]), 0.1),
        ),
        claim(
            70,
            "measured",
            "It gains more from a larger delta: per position, xi = .1, at least .07 from .01 to .1.",
            "holds",
            lambda d: verdicts.at_least(
                (gain(d).sel(init_diagonal=0.1) - gain(d).sel(init_diagonal=0.01)).sel(output="per_token", output_scale=0.1), 0.07
            ),
        ),
    ),
    draw_attention,
)


def share(data: xr.Dataset) -> xr.DataArray:
    """alpha*, by the number of relevant tokens."""
    return data.predicted_relevant_attention_uniform.isel(step=0, seed=0, drop=True)


def draw_queries(data: xr.Dataset) -> plot.Drawing:
    """The gain over |S|, a line for each alpha*; the loss is small in every cell."""
    worst = float(last(data.loss).mean("seed").max())
    figure, axes = plot.panels(1, title=f"Positions read out (P1), {data.sizes['seed']} seeds, test loss at most {worst:.2g}", width=4.6)
    labels = [str(v) if v else "all" for v in data.num_queries.values]
    for colour, number in enumerate(data.num_relevant.values):
        values = gain(data).sel(num_relevant=number).assign_coords(num_queries=range(len(labels)))
        alpha = float(share(data).isel(num_queries=0).sel(num_relevant=number))
        plot.series(axes[0, 0], values, "num_queries", f"α* = {alpha:.2f}", colour=colour)
    axes[0, 0].set_xticks(range(len(labels)), labels)
    plot.finish(axes[0, 0], "positions read out, |S|", "gain of attention, relevant queries")
    return figure


QUERIES = Figure(
    "attention_queries",
    f"{PAPER}, figure 1B: |S| and alpha*",
    LEAN,
    Config(output="per_token", learning_rate=3.0, num_confusion=2),
    {
        "vary": {"num_queries": [1, 3, 10, 0], "num_relevant": [5, 9, 15]},
        "seeds": 8,
        "steps": 160,
        "record": {name: [0, 160] for name in NAMES},
        "dtype": "float32",
    },
    {"vary": {"num_queries": [1], "num_relevant": [9]}, "seeds": 2},
    (
        claim(
            71,
            "measured",
            "More positions, more attention: from |S| = 1 to all the gain of relevant queries rises by at least .2 for every alpha*.",
            "holds",
            lambda d: verdicts.at_least(gain(d).sel(num_queries=0) - gain(d).sel(num_queries=1), 0.2),
        ),
        claim(
            72,
            "measured",
            "A single position leaves attention nearly uniform: the gain is at most .1.",
            "holds",
            lambda d: verdicts.at_most(gain(d).sel(num_queries=1), 0.1),
        ),
    ),
    draw_queries,
)

# How long it takes


def fitted(data: xr.Dataset, level: float = 0.1) -> xr.DataArray:
    """The first time at which the test loss falls below a level, between records by straight lines."""
    step, axis = data.step.values.astype(float), data.loss.get_axis_num("step")

    def crossing(loss: np.ndarray) -> float:
        low = np.flatnonzero(loss < level)
        if not low.size or low[0] == 0:
            return np.nan
        j = low[0]
        return float(step[j - 1] + (loss[j - 1] - level) / (loss[j - 1] - loss[j]) * (step[j] - step[j - 1]))

    dims = [d for d in data.loss.dims if d != "step"]
    coords = {d: data[d] for d in dims}
    return xr.DataArray(np.apply_along_axis(crossing, axis, data.loss.values), coords, dims)


def exponent(times: xr.DataArray, x: xr.DataArray, low: float, high: float) -> Verdict:
    """The slope of log(mean time) against log x lies in a range; it does not where a run never gets there."""
    mean = times.mean("seed", skipna=False)
    slope = float(np.polyfit(np.log(x.values), np.log(mean.values), 1)[0])
    return Verdict(low <= slope <= high, slope, f"[{low:g}, {high:g}]", times.sizes["seed"])


def draw_time(data: xr.Dataset, x: str, values: np.ndarray, label: str, printed: float, measured: float) -> plot.Drawing:
    """The loss in t, and the time to .1 against x with two power laws through the middle."""
    figure, axes = plot.panels(2, title=f"Steps until the test loss is below .1 (S1), {data.sizes['seed']} seeds", width=4.0)
    for colour, value in enumerate(values):
        plot.series(axes[0, 0], data.loss.isel({x: colour}), "step", f"{label} = {value:.2g}", colour=colour, markers=False)
    plot.finish(axes[0, 0], "step t", "test hinge loss")
    times = fitted(data).assign_coords({x: values})
    plot.series(axes[0, 1], times, x, "measured", colour=0)
    middle, at = float(times.mean("seed").isel({x: len(values) // 2})), values[len(values) // 2]
    plot.theory(axes[0, 1], values, middle * (values / at) ** printed, f"exponent {printed:g}, as printed", colour=1)
    plot.theory(axes[0, 1], values, middle * (values / at) ** measured, f"exponent {measured:g}", colour=2)
    plot.finish(axes[0, 1], label, "steps", xscale="log", yscale="log")
    axes[0, 1].set_xticks(values, [f"{v:.2g}" for v in values])
    axes[0, 1].set_xticks([], minor=True)
    return figure


RATES = Figure(
    "times_rate",
    f"{PAPER}, theorem 1, T = Theta(eta^(-3/5) / alpha*)",
    LEAN,
    Config(),
    {"vary": {"learning_rate": [0.1, 0.2, 0.4, 0.8]}, "seeds": 8, "steps": 400, "record": {"loss": 8}, "dtype": "float32"},
    {"vary": {"learning_rate": [0.4, 0.8]}, "seeds": 2, "steps": 100},
    (
        claim(
            73,
            f"{PAPER}, theorem 1",
            "The number of steps goes as eta^(-3/5), exponent -.7 to -.5.",
            "refuted",
            lambda d: exponent(fitted(d), d.learning_rate, -0.7, -0.5),
        ),
        claim(
            74,
            "measured",
            "It goes as 1 / eta, exponent -1.1 to -.9.",
            "holds",
            lambda d: exponent(fitted(d), d.learning_rate, -1.1, -0.9),
        ),
    ),
    lambda d: draw_time(d, "learning_rate", d.learning_rate.values, "η", -0.6, -1.0),
)

COUNTS: dict[str, Any] = {"num_relevant": [3, 6, 9, 18], "num_confusion": [1, 2, 3, 6]}
SHARES = Figure(
    "times_share",
    f"{PAPER}, theorem 1, T = Theta(eta^(-3/5) / alpha*)",
    LEAN,
    Config(),
    {"zip": COUNTS, "seeds": 8, "steps": 160, "record": {"loss": 4}, "dtype": "float32"},
    {"zip": {name: values[2:] for name, values in COUNTS.items()}, "seeds": 2, "steps": 60},
    (
        claim(
            75,
            f"{PAPER}, theorem 1",
            "The number of steps goes as 1 / alpha* or a little faster, exponent -1.35 to -.9, over .14 to .43.",
            "holds",
            lambda d: exponent(fitted(d), share(d), -1.35, -0.9),
        ),
    ),
    lambda d: draw_time(d, "num_relevant", share(d).values, "α*", -1.0, -1.1),
)

# LoRA

RANKS = [1, 2, 3, 5, 20]
RUNS: dict[str, Any] = {
    "run": [f"LoRA {r}" for r in RANKS] + ["all weights"],
    "algorithm": ["lora"] * len(RANKS) + ["sgd"],
    "lora_rank": [*RANKS, 2],
}


def draw_lora(data: xr.Dataset) -> plot.Drawing:
    """The loss in t; at the end the loss, and that of the changes cut to rank 1."""
    names = [str(r) for r in data.run.values]
    figure, axes = plot.panels(2, title=f"LoRA on all four matrices (S1), {data.sizes['seed']} seeds", width=4.2)
    for colour, name in enumerate(names):
        plot.series(axes[0, 0], data.loss.sel(run=name), "step", name, colour=colour, markers=False)
    plot.finish(axes[0, 0], "step t", "test hinge loss")
    at = np.arange(len(names))
    axes[0, 1].bar(at - 0.2, last(data.loss).mean("seed"), 0.4, color=plot.COLOURS[0], label="trained")
    axes[0, 1].bar(at + 0.2, data.truncated_loss.sel(rank=1).mean("seed"), 0.4, color=plot.COLOURS[1], label="changes cut to rank 1")
    axes[0, 1].set_xticks(at, names, rotation=45)
    plot.finish(axes[0, 1], "", "test hinge loss")
    return figure


LORA = Figure(
    "lora_ranks",
    "LoRA training against truncation",
    THEORY._replace(analyses=analyses.ranks.truncation),
    Config(),
    {"zip": RUNS, "seeds": 8, "steps": 400, "record": {"loss": 10}, "dtype": "float32"},
    {"zip": {name: values[:2] for name, values in RUNS.items()}, "seeds": 2, "steps": 60},
    (
        claim(
            76,
            f"{PAPER}, remark 1 for LoRA",
            "LoRA of a rank below the number of relevant patterns fails: at rank 1 the loss stays at .1 or more.",
            "refuted",
            lambda d: verdicts.at_least(last(d.loss).sel(run="LoRA 1"), 0.1),
        ),
        claim(
            77,
            "measured",
            "At every rank, and with all weights, 80 % of the runs or more have a test loss below .02 after 400 steps.",
            "holds",
            lambda d: verdicts.at_least((last(d.loss) < 0.02).astype(float), 0.8),
        ),
        claim(
            78,
            "measured",
            "Yet cutting the changes of full training to rank 1 costs at least .2.",
            "holds",
            lambda d: verdicts.at_least((d.truncated_loss.sel(rank=1) - last(d.loss)).sel(run="all weights"), 0.2),
        ),
    ),
    draw_lora,
)

# Laws of gradient flow

FLOW: dict[str, Any] = {"learning_rate": [0.5, 0.25, 0.125], "steps": [60, 120, 240]}


def drift(data: xr.Dataset) -> xr.DataArray:
    """The drift at equal eta t."""
    return data.balance_drift.sel(step=data.steps).drop_vars("step")


def draw_drift(data: xr.Dataset) -> plot.Drawing:
    """The drift against eta, with slope 1."""
    figure, axes = plot.panels(1, title=f"Conservation laws, drift at ηt = 30, {data.sizes['seed']} seeds", width=4.2)
    ax, eta = axes[0, 0], data.learning_rate.values
    for colour, name in enumerate(data.law.values):
        values = drift(data).sel(law=name)
        plot.series(ax, values, "learning_rate", str(name), colour=colour)
        plot.theory(ax, eta, float(values.mean("seed")[0]) * eta / eta[0], "∝ η" if colour == 0 else "", colour=colour)
    plot.finish(ax, "step size η", "relative drift", xscale="log", yscale="log")
    return figure


BALANCE = Figure(
    "balance_drift",
    "derived: conservation laws of gradient flow",
    LEAN,
    Config(),
    {"zip": FLOW, "seeds": 8, "steps": 240, "record": {"balance_drift": [60, 120, 240], "loss": [0, 240]}, "dtype": "float64"},
    {
        "zip": {name: values[:2] for name, values in FLOW.items()},
        "seeds": 2,
        "steps": 120,
        "record": {"balance_drift": [60, 120], "loss": [0]},
    },
    (
        claim(
            79,
            "derived",
            "W_O^T W_O - W_V W_V^T drifts as eta at equal eta t: exponent .85 to 1.25.",
            "holds",
            lambda d: exponent(drift(d).sel(law="VO"), d.learning_rate, 0.85, 1.25),
            2,
        ),
        claim(
            80,
            "derived",
            "W_Q W_Q^T - W_K W_K^T likewise.",
            "holds",
            lambda d: exponent(drift(d).sel(law="QK"), d.learning_rate, 0.85, 1.25),
            2,
        ),
    ),
    draw_drift,
)

FIGURES: Any = (ATTENTION, QUERIES, RATES, SHARES, LORA, BALANCE)
