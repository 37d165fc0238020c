"""Figure 2 of arXiv 2410.11261 on synthetic data: error of the pruned attention against lambda, length and pruning ratio.

All errors are ||f - f*||_F / ||f*||_F (not squared). A claim on a mean speaks of the unfavourable end of mean -+ 2 standard errors.
"""

from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Size, Verdict, plot, statistics
from jaxtheory.theories.attention_pruning import P1, P2, P3, PRESETS

THEORY = jaxtheory.theories.get("attention_pruning")
RIVALS = ("wanda", "sparsegpt")  # the source's baselines
NAMES = {"gradient": "gradient mask", "wanda": "Wanda", "sparsegpt": "SparseGPT", "magnitude": "magnitude of W"}
ERROR = "relative error"

QUICK = P3.replace(dimension=32, length=Size(64, 64), num_sequences=Size(2, 1))  # one set of capacities: one compilation for most figures
LAMBDAS, RATIOS = [5.0, 10.0, 20.0], [0.3, 0.5, 0.8]


def mask(values: xr.DataArray) -> xr.DataArray:
    """The gradient mask's entries."""
    return values.sel({"method": "gradient"}, drop=True)


def rivals(values: xr.DataArray) -> xr.DataArray:
    """The better of Wanda and SparseGPT."""
    return values.sel({"method": list(RIVALS)}).min("method")


def half(dataset: xr.Dataset) -> xr.Dataset:
    """At rho = 1/2."""
    return dataset.sel(pruning_ratio=0.5, drop=True)


def interval(values: xr.DataArray, side: int) -> float:
    """The upper (side = 1) end of the mean's interval over seeds, the largest along the other dimensions; or the lower, smallest one."""
    found = statistics.average(values)
    return side * float((side * (found.mean + side * 2 * found.error.fillna(0))).max())


def at_most(values: xr.DataArray, threshold: float) -> Verdict:
    """The mean over seeds is at most the threshold, everywhere."""
    measured = interval(values, 1)
    return Verdict(measured <= threshold, measured, threshold, values.sizes["seed"])


def at_least(values: xr.DataArray, threshold: float) -> Verdict:
    """The mean over seeds is at least the threshold, everywhere."""
    measured = interval(values, -1)
    return Verdict(measured >= threshold, measured, threshold, values.sizes["seed"])


# ------------------------------------------------------------------------------------------------------------- (a) lambda

GRID = [round(10 ** (k / 2), 4) for k in range(-1, 11)]


def final(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """A metric at rho = 1/2 and each preset's own last step."""
    return xr.concat([half(dataset)[name].sel(preset=p, step=PRESETS[p][1]) for p in dataset.preset.values], "preset")


def best(errors: xr.DataArray) -> xr.DataArray:
    """The least error over lambda, per seed."""
    return errors.min("regularization")


def interior(dataset: xr.Dataset) -> Verdict:
    where = mask(final(dataset, "relative_error")).argmin("regularization")
    inside = (where > 0) & (where < dataset.sizes["regularization"] - 1)
    return Verdict(bool(inside.all()), float(inside.mean()), 1.0, dataset.sizes["seed"])


def left_arm(dataset: xr.Dataset) -> Verdict:
    errors = mask(final(dataset, "relative_error"))
    return at_least(errors.isel(regularization=0) - best(errors), 0.4)


def right_arm(dataset: xr.Dataset) -> Verdict:
    errors = mask(final(dataset, "relative_error"))
    return at_least(errors.isel(regularization=-1) - best(errors), 0.15)


def small(dataset: xr.Dataset) -> Verdict:
    return at_most(best(mask(final(dataset, "relative_error")).drop_sel(preset="P1", errors="ignore")), 0.4)


def small_p1(dataset: xr.Dataset) -> Verdict:
    return at_most(best(mask(final(dataset, "relative_error")).sel(preset="P1")), 0.55)


def wins(dataset: xr.Dataset) -> Verdict:
    errors = final(dataset, "relative_error")
    won = best(mask(errors)) < rivals(errors).isel(regularization=0)
    share = float(won.mean())
    return Verdict(share >= 0.95, share, 0.95, dataset.sizes["seed"])


def unstable(dataset: xr.Dataset) -> Verdict:
    errors = mask(final(dataset, "relative_error"))
    excess = (errors - best(errors)).where(half(dataset).stability_ratio > 3)
    return at_least(excess.mean(("preset", "regularization")), 0.4)


def stable(dataset: xr.Dataset) -> Verdict:
    errors = mask(final(dataset, "relative_error"))
    chosen = half(dataset).stability_ratio.isel(regularization=errors.argmin("regularization"))
    return at_most(np.log(chosen), float(np.log(2)))._replace(threshold="log 2")


def one_shot(dataset: xr.Dataset) -> Verdict:
    gap = abs(mask(final(dataset, "relative_error")) - final(dataset, "predicted_relative_error_large_lambda")).isel(regularization=-1)
    return at_most(gap.drop_sel(preset="P1", errors="ignore"), 0.05)


def draw_lambda(dataset: xr.Dataset) -> Any:
    presets = list(dataset.preset.values)
    figure, axes = plot.panels(len(presets), 2, title="Error against the weight of the penalty (rho = 1/2)", height=2.5)
    for column, preset in enumerate(presets):
        chosen = half(dataset).sel(preset=preset)
        last = chosen.sel(step=PRESETS[preset][1])
        top, bottom = axes[:, column]
        for colour, method in enumerate(NAMES):
            plot.series(top, last.relative_error.sel({"method": method}), "regularization", NAMES[method], colour=colour, markers=colour == 0)
        plot.theory(top, 0, float(last.predicted_relative_error_large_lambda.mean()), "one-shot limit of large lambda")
        ratio = statistics.average(np.log10(chosen.stability_ratio)).mean
        edge = 10 ** float(np.interp(0, -ratio.values, np.log10(chosen.regularization.values)))
        for ax in (top, bottom):
            ax.axvspan(float(chosen.regularization[0]), edge, color="#999999", alpha=0.15, label="unstable step" if ax is top else None)
        config = PRESETS[preset][0]
        title = f"{preset}: c = {config.step_scale:g}, {PRESETS[preset][1]} steps{', clipped' if config.clip else ''}"
        plot.finish(top, "", f"{ERROR}, calibration", title, legend=column == 0, xscale="log")
        plot.series(bottom, chosen.stability_ratio, "regularization", colour=4)
        plot.theory(bottom, 0, 1.0, "stability edge")
        plot.finish(bottom, "lambda", "eta ||Hessian|| / (2 (1 + beta))", legend=column == 0, xscale="log", yscale="log")
    return figure


FIGURE_LAMBDA = Figure(
    "attention_pruning_lambda",
    "Figure 2(a)",
    THEORY,
    P3,
    {
        "vary": {"lambda": GRID, "rho": RATIOS},
        "zip": {
            "preset": tuple(PRESETS),
            "step_scale": (P1.step_scale, P2.step_scale, P3.step_scale),
            "clip": (P1.clip, P2.clip, P3.clip),
            "steps": tuple(steps for _, steps in PRESETS.values()),
        },
        "seeds": 8,
        "steps": 1500,
        "record": [100, 400, 1500],
        "dtype": "float32",
    },
    {
        "config": QUICK,
        "vary": {"lambda": [GRID[0], 10.0, GRID[-1]], "rho": RATIOS},
        "zip": {"preset": ("P3",), "step_scale": (P3.step_scale,)},
        "seeds": 4,
        "record": [1500],
    },
    (
        Claim("AP-1", "Figure 2(a)", "the error is least strictly inside the range of lambda, for every seed", "holds", interior),
        Claim("AP-2", "Figure 2(a)", "small lambda costs at least .4 in error over the best lambda", "holds", left_arm),
        Claim("AP-3", "Figure 2(a)", "large lambda costs at least .15 in error over the best lambda", "holds", right_arm),
        Claim("AP-4", "Figure 2(a)", "at the best lambda the error is at most .4 (presets P2, P3)", "holds", small),
        Claim("AP-5", "Figure 2(a)", "at the best lambda the error is at most .55 (preset P1)", "holds", small_p1),
        Claim("AP-6", "Figure 2(a)", "on its calibration data the mask at the best lambda beats Wanda and SparseGPT", "holds", wins),
        Claim("AP-7", "derived", "past three times the stability edge the error is at least .4 above the best: the left arm", "holds", unstable),
        Claim("AP-8", "derived", "the best lambda lies below twice the stability edge", "holds", stable),
        Claim("AP-9", "derived", "at the largest lambda the error is that of the one-shot score (P2, P3): the right arm", "holds", one_shot),
    ),
    draw_lambda,
)

# ------------------------------------------------------------------------------------------------------------- (b) length

BETWEEN = P3.replace(step_scale=0.01)  # 600 steps: between P2 and P3


def grows(dataset: xr.Dataset) -> Verdict:
    return at_least(mask(half(dataset).relative_error.isel(step=-1)).diff("length"), 0.0)


def margin(dataset: xr.Dataset) -> Verdict:
    errors = half(dataset).relative_error.isel(step=-1)
    return at_most(mask(errors) / rivals(errors), 0.6)


def rivals_grow(dataset: xr.Dataset) -> Verdict:
    return at_least(half(dataset).relative_error.isel(step=-1, regularization=0).sel({"method": list(RIVALS)}).diff("length"), -0.05)


def crossing(dataset: xr.Dataset) -> Verdict:
    errors = half(dataset).relative_error.isel(step=-1, regularization=0).sel(length=[64, 128, 256])
    return at_most(errors.sel({"method": "wanda"}) - errors.sel({"method": "sparsegpt"}), 0.0)


def slowest(dataset: xr.Dataset) -> Verdict:
    errors = half(dataset).relative_error.isel(step=-1)
    growth = errors.isel(length=-1) - errors.isel(length=0)
    return at_most(mask(growth) - rivals(growth), 0.0)


def draw_length(dataset: xr.Dataset) -> Any:
    figure, axes = plot.panels(dataset.sizes["pruning_ratio"], title=f"Error against sequence length ({dataset.sizes['seed']} seeds)")
    for i, ax in enumerate(axes[0]):
        chosen = dataset.isel(pruning_ratio=i, step=-1)
        for j, strength in enumerate(chosen.regularization.values):
            label = NAMES["gradient"] + f", lambda {', '.join(f'{v:g}' for v in chosen.regularization.values)}" if j == 0 else ""
            plot.series(ax, mask(chosen.relative_error.sel(regularization=strength)), "length", label)
        for colour, method in list(enumerate(NAMES))[1:]:
            plot.series(ax, chosen.relative_error.isel(regularization=0).sel({"method": method}), "length", NAMES[method], colour=colour)
        plot.finish(ax, "L (tokens)", f"{ERROR}, calibration", f"rho = {float(chosen.pruning_ratio):g}", legend=i == 0, xscale="log")
        ax.set_ylim(0, None)
        ax.set_xticks(chosen.length.values, [str(v) for v in chosen.length.values], minor=False)
        ax.set_xticks([], minor=True)
    return figure


FIGURE_LENGTH = Figure(
    "attention_pruning_length",
    "Figure 2(b)",
    THEORY,
    BETWEEN,
    {
        "vary": {"length": [16, 32, 64, 128, 256], "lambda": LAMBDAS, "rho": RATIOS},
        "seeds": 8,
        "steps": 600,
        "record": [600],
        "dtype": "float32",
        "buckets": "pad",
    },
    {"config": QUICK, "vary": {"length": [16, 64], "lambda": LAMBDAS, "rho": RATIOS}, "seeds": 2, "steps": 1500, "record": [1500]},
    (
        Claim("AP-10", "Figure 2(b)", "the gradient mask's error grows with every doubling of L", "holds", grows),
        Claim("AP-11", "Figure 2(b)", "its error is at most .6 of the better of Wanda and SparseGPT at every L", "holds", margin),
        Claim("AP-12", "Figure 2(b)", "the errors of Wanda and SparseGPT do not fall with L by more than .05", "holds", rivals_grow),
        Claim("AP-13", "Figure 2(b)", "at large L Wanda is better than SparseGPT", "refuted", crossing),
        Claim("AP-14", "Figure 2(b)", "of the three methods the gradient mask's error grows least with L", "refuted", slowest),
    ),
    draw_length,
)

# ------------------------------------------------------------------------------------------------------------- (c) pruning ratio


def clipped(dataset: xr.Dataset, clip: bool) -> xr.DataArray:
    """Calibration errors at lambda = 5 with or without the projection onto [0, 1]."""
    return dataset.relative_error.isel(step=-1).sel(clip=clip, regularization=5.0)


def ahead(dataset: xr.Dataset) -> Verdict:
    errors = clipped(dataset, False).sel(pruning_ratio=slice(0.25, 0.85))
    return at_most(mask(errors) / rivals(errors), 0.6)


def always_ahead(dataset: xr.Dataset) -> Verdict:
    errors = clipped(dataset, False)
    return at_most(mask(errors) - rivals(errors), 0.0)


def behind(dataset: xr.Dataset) -> Verdict:
    errors = clipped(dataset, False).sel(pruning_ratio=0.05)
    return at_least(mask(errors) - errors.sel({"method": "wanda"}), 0.1)


def rises(dataset: xr.Dataset) -> Verdict:
    errors = mask(clipped(dataset, False))
    return at_least(errors.sel(pruning_ratio=0.7) - errors.sel(pruning_ratio=0.05), 0.0)


def rises_late(dataset: xr.Dataset) -> Verdict:
    errors = mask(clipped(dataset, False))
    return at_least(errors.sel(pruning_ratio=0.9) - errors.sel(pruning_ratio=0.7), 0.12)


def rivals_rise(dataset: xr.Dataset) -> Verdict:
    return at_least(clipped(dataset, False).sel({"method": list(RIVALS)}).diff("pruning_ratio"), 0.0)


def trap(dataset: xr.Dataset) -> Verdict:
    errors = [mask(clipped(dataset, clip)).sel(pruning_ratio=0.1) for clip in (True, False)]
    return at_least(errors[0] - errors[1], 0.1)


def draw_ratio(dataset: xr.Dataset) -> Any:
    clips = [bool(v) for v in dataset["clip"].values]
    figure, axes = plot.panels(2, title=f"Error against the share of pruned weights ({dataset.sizes['seed']} seeds, lambda = 5)")
    titles = {"relative_error": "as pruned", "relative_error_rescaled": "logits rescaled by one factor"}
    for ax, (name, title) in zip(axes[0], titles.items(), strict=True):
        errors = dataset[name].sel(regularization=5.0)
        errors = errors.isel(step=-1) if "step" in errors.dims else errors
        for colour, method in list(enumerate(NAMES))[1:]:
            plot.series(ax, errors.isel(clip=0).sel({"method": method}), "pruning_ratio", NAMES[method], colour=colour)
        for clip in clips:
            label = NAMES["gradient"] + (", clipped to [0, 1]" if clip else "")
            plot.series(ax, mask(errors.sel(clip=clip)), "pruning_ratio", label, colour=4 if clip else 0)
        plot.finish(ax, "rho (share of weights set to zero)", f"{ERROR}, calibration", title, legend=name == "relative_error")
        ax.set_ylim(0, None)
    return figure


FIGURE_RATIO = Figure(
    "attention_pruning_ratio",
    "Figure 2(c)",
    THEORY,
    P3,
    {
        "vary": {"clip": [False, True], "lambda": LAMBDAS, "rho": [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9]},
        "seeds": 8,
        "steps": 1500,
        "record": [1500],
        "dtype": "float32",
    },
    {"config": QUICK, "vary": {"clip": [False], "lambda": LAMBDAS, "rho": [0.05, 0.5, 0.9]}, "seeds": 4},
    (
        Claim("AP-15", "Figure 2(c)", "error at most .6 of the better of Wanda and SparseGPT for rho from .3 to .8", "holds", ahead),
        Claim("AP-16", "Figure 2(c)", "the gradient mask is at least as good as both at every rho", "refuted", always_ahead),
        Claim("AP-17", "derived", "at rho = .05 the gradient mask is worse than Wanda by at least .1", "holds", behind),
        Claim("AP-18", "Figure 2(c)", "the gradient mask's error rises with rho: it is larger at .7 than at .05", "refuted", rises),
        Claim("AP-19", "derived", "it rises by at least .12 from rho = .7 to .9", "holds", rises_late),
        Claim("AP-20", "Figure 2(c)", "the errors of Wanda and SparseGPT rise with rho", "holds", rivals_rise),
        Claim("AP-21", "derived", "clipping ties many entries at 0, which at rho = .1 costs at least .1 in error", "holds", trap),
    ),
    draw_ratio,
)

FIGURES = (FIGURE_LAMBDA, FIGURE_LENGTH, FIGURE_RATIO)
