"""Which token attention selects, by K, p, N and M, and how the failing run at p = 1 is lost when its start is disturbed.

Thresholds were measured on keys 100 and 101 and widened; a comment says what was measured where they are tight.
"""

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, statistics, verdicts
from jaxtheory.theories.random_walk import CIRCLE6, Config

THEORY = jaxtheory.theories.get("random_walk")
PAPER, TALK = "Towards Understanding Transformers in Learning Random Walks", "Transformers Learn Random Walk Prediction (talk)"
K, N, M, P, ETA, DELTA = "num_states", "length", "encoding_dim", "clockwise_probability", "learning_rate", "perturbation"
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


# Which token is selected: K and p


def commonest_stray(data: xr.Dataset) -> xr.DataArray:
    """The lag that most of the runs select which miss the parent; 1 where none does."""

    def mode(lags: np.ndarray) -> float:
        values, counts = np.unique(lags[lags != 1], return_counts=True)
        return float(values[np.argmax(counts)]) if len(values) else 1.0

    return xr.apply_ufunc(mode, last(data.selected_lag), input_core_dims=[["seed"]], vectorize=True)


def draw_phase(data: xr.Dataset) -> plot.Drawing:
    """By K and p: the share of seeds that select the parent, the lag that the others select, the accuracy lost."""
    figure, axes = plot.panels(3, width=4.4, height=3.8)
    lost = abs(data[P] - 0.5) + 0.5 - last(data.accuracy).mean("seed")
    plot.heat(axes[0, 0], right(data).mean("seed"), K, P, label="share of seeds that select the parent (lag 1)", span=(0, 1))
    plot.heat(axes[0, 1], commonest_stray(data), K, P, label="lag of most of the other seeds (1: none)", digits=0, span=(1, 7))
    plot.heat(axes[0, 2], lost.clip(0), K, P, label="max(p, 1 − p) − accuracy", digits=3, span=(0, 0.25))
    for ax in axes[0]:
        plot.finish(
            ax, "states on the circle, K", "probability of a step clockwise, p", f"t = {int(data.step[-1])}, {data.sizes['seed']} seeds"
        )
    return figure


PHASE = Figure(
    "walk_phase",
    f"{TALK}, theorem: the parent is selected for any 0 < p < 1",
    THEORY,
    CIRCLE6,
    {
        "zip": {K: [3, 4, 5, 6, 8, 12, 20], N: [97] * 6 + [101]},
        "vary": {P: [0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]},
        "seeds": 16,
        "steps": 50,
        "record": [0, 50],
        "buckets": "pad",
        "dtype": "float32",
    },
    QUICK | {"zip": {K: [6, 20], N: [97, 101]}, "vary": {P: [0.5, 0.8]}},
    # shares measured on key 100, 16 seeds: K = 6 .94 to 1 for .05 <= p <= .95; K = 20 1 at p = .5, .69 at .7, .25 at .8; K = 4 0 at p = .5
    (
        Claim(
            "RW-20",
            f"{TALK}, theorem",
            "K = 6, N = 97, .05 <= p <= .95: the parent is selected (90 % of the runs).",
            "holds",
            lambda data: verdicts.mean_at_least(right(data).sel({K: 6, P: slice(None, 0.95)}), 0.9),
        ),
        Claim(
            "RW-21",
            f"{TALK}, theorem",
            "K = 20, N = 101, p = 1/2: the parent is selected (90 % of the runs).",
            "holds",
            lambda data: verdicts.mean_at_least(right(data).sel({K: 20, P: 0.5}), 0.9),
        ),
        Claim(
            "RW-22",
            f"{TALK}, theorem: any 0 < p < 1",
            "K = 20, N = 101, p = .7: the parent is selected (95 % of the runs).",
            "refuted",
            lambda data: verdicts.mean_at_least(right(data).sel({K: 20, P: 0.7}), 0.95),
        ),
        Claim(
            "RW-23",
            f"{PAPER}, condition K > 4",
            "K = 4, p = 1/2: the accuracy is 1/2 though attention selects another token, for every odd lag tells as much.",
            "holds",
            lambda data: verdicts.mean_at_least((~right(data) & (abs(last(data.accuracy) - 0.5) < 1e-5)).sel({K: 4, P: 0.5}), 0.8),
        ),
    ),
    draw_phase,
)


# Which token is selected, and how sharply: N and M

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
    return {"case": [f"{rule}, N = {n}" for rule, n, _ in pairs], N: [n for _, n, _ in pairs], M: [m for _, _, m in pairs]}


def sharpness(data: xr.Dataset) -> xr.DataArray:
    """-log(1 - attention on the parent) of the runs that select it, at most that of the smallest number (708; 87 in float32)."""
    rest = last(data.stray_attention).where(right(data))
    sharp: xr.DataArray = -xr.apply_ufunc(np.log, rest.clip(float(np.finfo(rest.dtype).tiny)))
    return sharp


def of_rule(data: xr.Dataset, rule: str) -> xr.Dataset:
    """The cases of one rule, by N."""
    return data.isel(case=[i for i, case in enumerate(data.case.values) if str(case).startswith(rule + ",")]).swap_dims(case=N)


def draw_lengths(data: xr.Dataset) -> plot.Drawing:
    """Sharpness against N, one line per rule for M and one panel per p; the share of seeds that select the parent against M."""
    figure, axes = plot.panels(data.sizes[P] + 1, width=4.6, height=4.0)
    lengths = sorted(set(data[N].values))
    wide = axes[0, -1]
    for i, (ax, p) in enumerate(zip(axes[0], data[P].values, strict=False)):
        for colour, rule in enumerate(RULES):
            chosen = of_rule(data, rule)
            if chosen.sizes[N]:
                lost = int((~right(chosen)).sum())
                name = rule.replace("N^1.5", "$N^{1.5}$") + (f" ({lost} of {right(chosen).size} excluded)" if lost else "")
                plot.series(ax, sharpness(chosen.sel({P: p})).clip(1e-2), N, name, colour=colour)
        if of_rule(data, "M = 4 N^1.5").sizes[N]:
            plot.theory(ax, lengths, np.array(lengths) * 2.8, "2.8 N")
        plot.finish(ax, "positions, N", "−log(1 − attention on the parent)", f"p = {p:g}", legend=False, xscale="log", yscale="log")
        for j, n in enumerate(lengths[-2:]):
            found = right(data.sel({P: p})).isel(case=data[N].values == n).mean("seed").swap_dims(case=M).sortby(M).drop_duplicates(M)
            plot.series(wide, found, M, f"N = {n}, p = {p:g}", colour=2 * i + j)
    plot.finish(wide, "dimension of the encodings, M", "share of seeds that select the parent", f"t = {int(data.step[-1])}", xscale="log")
    wide.set_ylim(-0.03, 1.05)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=8, frameon=False)
    return figure


def sharpness_exponent(data: xr.Dataset) -> Verdict:
    """The exponent a of -log(1 - attention on the parent) ~ N^a at M = 4 N^1.5 (median over seeds, mean over p)."""
    found = float(statistics.slope(sharpness(of_rule(data, "M = 4 N^1.5")).median("seed"), N).mean())
    return Verdict(0.75 <= found <= 1.25, found, "[0.75, 1.25]", data.sizes["seed"])


def blunter_at_fixed_width(data: xr.Dataset) -> Verdict:
    """The ratio of the sharpness at the largest N over that at the smallest, M = 1000."""
    found = sharpness(of_rule(data, "M = 1000")).median("seed")
    ratio = float((found.isel({N: -1}) / found.isel({N: 0})).mean())
    return Verdict(ratio >= 1, ratio, 1.0, data.sizes["seed"])


ENCODINGS = Figure(
    "walk_lengths",
    f"{TALK}, theorem: 1 - attention on the parent = exp(-Omega(N)), with M = Omega(N^1.5)",
    THEORY,
    CIRCLE6,
    {
        "zip": cases(list(RULES), [7, 13, 25, 49, 97]),
        "vary": {P: [0.5, 0.8]},
        "seeds": 16,
        "steps": 50,
        "record": [0, 50],
        "buckets": "pad",
        "dtype": "float64",
    },
    QUICK | {"zip": cases(["M = N^1.5"], [13, 25, 49, 101]), "vary": {P: [0.5]}},
    # measured on key 100, 16 seeds: exponents .91 (p = .5) and .96 (p = .8); share at M = N = 97, p = 1/2: .56
    (
        Claim(
            "RW-24",
            f"{TALK}, theorem",
            "M >= N^1.5: the parent is selected for every N (95 % of the runs).",
            "holds",
            lambda data: verdicts.mean_at_least(
                right(data).isel(case=np.flatnonzero(data[M].values >= np.round(data[N].values ** 1.5))), 0.95
            ),
        ),
        Claim(
            "RW-25",
            f"{PAPER}, condition M = Omega(N^1.5)",
            "M = N = 97, p = 1/2: orthogonal encodings suffice to select the parent (95 % of the runs).",
            "refuted",
            lambda data: verdicts.mean_at_least(right(data).sel({P: 0.5, "case": "M = N, N = 97"}), 0.95),
        ),
        Claim(
            "RW-26",
            f"{TALK}, theorem: exp(-Omega(N))",
            "M = 4 N^1.5: -log(1 - attention on the parent) grows in proportion to N.",
            "holds",
            sharpness_exponent,
        ),
        Claim(
            "RW-27",
            f"{TALK}, theorem: exp(-Omega(N))",
            "M = 1000: -log(1 - attention on the parent) is larger at the largest N than at the smallest.",
            "open",
            blunter_at_fixed_width,
        ),
    ),
    draw_lengths,
)


# Escape from the symmetric run


def escape(data: xr.Dataset, name: str = "attention_spread") -> xr.DataArray:
    """The first step at which tokens differ by half the uniform attention, 1/(2 (N - 1)) with N = 97; NaN where none does."""
    apart = data[name] >= 0.5 / 96
    return data.step[apart.argmax("step")].where(apart.any("step"))


def growth_error(data: xr.Dataset) -> Verdict:
    """Mean of |log(mean spread / linear theory)| over the steps t >= 2 at which the theory is below 1/50 of the uniform attention."""
    runs = data.isel(step=data.step.values >= 2)
    theory = runs.predicted_attention_spread_linear.mean("seed")
    found = float(abs(np.log(runs.attention_spread.mean("seed") / theory)).where(theory < 0.02 / 96).mean())
    return Verdict(found <= 0.3, found, 0.3, data.sizes["seed"])


def escape_times(data: xr.Dataset) -> Verdict:
    """The largest difference between the mean escape time and the linear theory's, over delta."""
    gap = float(abs(escape(data).mean("seed") - escape(data, "predicted_attention_spread_linear").mean("seed")).max())
    return Verdict(gap <= 1.0, gap, 1.0, data.sizes["seed"])


def draw_escape(data: xr.Dataset) -> plot.Drawing:
    """The spread of the attention in t for each disturbance, and the step at which it is lost; dashed: the linear theory."""
    figure, (axes,) = plot.panels(2, width=4.8, height=3.4)
    for colour, delta in enumerate(data[DELTA].values):
        runs = data.sel({DELTA: delta, P: 1.0, ETA: 1.0})
        plot.series(axes[0], runs.attention_spread.clip(1e-17), "step", f"δ = {delta:.0e}", colour=colour, markers=False)
        theory = runs.predicted_attention_spread_linear.isel(seed=0, step=slice(2, None))
        plot.theory(axes[0], theory.step.values, theory.where(theory < 0.02).values, "" if colour else "linear theory")
    plot.finish(axes[0], "step t", "max − min of the attention over tokens", "p = 1, K = 6, N = 97, η = 1", yscale="log")
    axes[0].set_xlim(-0.5, 20)
    for colour, eta in enumerate(data[ETA].values):
        runs = data.sel({ETA: eta, P: 1.0})
        plot.series(axes[1], escape(runs), DELTA, f"η = {eta:g}", colour=colour)
        theory = escape(runs, "predicted_attention_spread_linear").isel(seed=0)
        plot.theory(axes[1], data[DELTA].values, theory.values, "" if colour else "linear theory")
    plot.finish(axes[1], "standard deviation of the disturbance, δ", "steps until max − min is 1/(2 (N − 1))", "escape time", xscale="log")
    return figure


ESCAPE = Figure(
    "walk_escape",
    f"{TALK}: the failing run is a ridge of bad points",
    THEORY,
    Config(population=True, clockwise_probability=1.0),
    {
        "vary": {DELTA: [1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2], ETA: [0.1, 1.0], P: [1.0]},
        "seeds": 32,  # the range of six normal numbers varies by a third from seed to seed
        "steps": 50,
        "record": [*range(31), 50],
        "dtype": "float64",
    },
    {
        "config": Config(population=True, clockwise_probability=1.0).pad(length=98),
        "vary": {DELTA: [1e-10, 1e-4], ETA: [1.0], P: [1.0]},
        "seeds": 4,
        "buckets": "pad",
    },
    (
        Claim(
            "RW-28",
            f"{TALK}, ridge of bad points",
            "p = 1, N = rK + 1: every disturbance of the start is lost from the symmetric run, and the accuracy becomes 1.",
            "holds",
            lambda data: verdicts.mean_at_least(last(data.accuracy).sel({ETA: 1.0}) > 1 - 1e-9, 1.0),
        ),
        Claim("RW-29", "derived", "A small disturbance grows as linear theory has it.", "holds", growth_error),
        Claim("RW-30", "derived", "The escape time is that of linear theory, within a step.", "holds", escape_times),
    ),
    draw_escape,
)

FIGURES = (PHASE, ENCODINGS, ESCAPE)
