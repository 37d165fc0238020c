"""Beyond figure 2 of arXiv 2410.11261: where the gradient mask pays off, whether it generalises, two masks, the theory's bounds, M_0.

Errors and claims on means as in `attention_pruning.py`. lambda is chosen per run by the error on the calibration sequences.
"""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, Verdict, plot, statistics
from jaxtheory.theories.attention_pruning import P3, Config

MAIN = jaxtheory.theories.load(Path(__file__).with_name("attention_pruning.py"))
THEORY, PAPER, NAMES, QUICK, LAMBDAS, RATIOS = MAIN.THEORY, MAIN.PAPER, MAIN.NAMES, MAIN.QUICK, MAIN.LAMBDAS, MAIN.RATIOS
of, half, at_most, at_least, share, legend = MAIN.of, MAIN.half, MAIN.at_most, MAIN.at_least, MAIN.share, MAIN.legend

BASELINES = ("wanda", "sparsegpt", "magnitude", "magnitude_factors")
PLAIN, HELDOUT = "relative_error", "relative_error_heldout"
RESCALED, RESCALED_HELDOUT = "relative_error_rescaled", "relative_error_rescaled_heldout"
PANELS = {
    PLAIN: "calibration, as pruned",
    HELDOUT: "held out, as pruned",
    RESCALED: "calibration, logits rescaled",
    RESCALED_HELDOUT: "held out, logits rescaled",
}


def tuned(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Final errors at the lambda whose mask has the least plain calibration error."""
    errors = {n: dataset[n].isel(step=-1) if "step" in dataset[n].dims else dataset[n] for n in {name, PLAIN}}
    return errors[name].isel(regularization=of(errors[PLAIN], "gradient").argmin("regularization"))


def lead(dataset: xr.Dataset, name: str, *rivals: str) -> xr.DataArray:
    """Error of the gradient mask minus the best of others; negative where the mask is better."""
    errors = tuned(dataset, name)
    return of(errors, "gradient") - of(errors, *rivals)


# ------------------------------------------------------------------------------------------------------------- logit scale


def draw_logit_scale(dataset: xr.Dataset) -> Any:
    """Four phase diagrams; black lines enclose where the mask is better than every baseline."""
    figure, axes = plot.panels(
        2,
        2,
        title=f"Gradient mask minus the best baseline ({dataset.sizes['seed']} seeds, best of {dataset.sizes['regularization']} lambdas)",
    )
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        mean = lead(dataset, name, *BASELINES).mean("seed")
        plot.heat(ax, mean, "logit_scale", "pruning_ratio", label="difference in relative error")
        wins = np.pad(mean.transpose("pruning_ratio", "logit_scale").values < 0, 1, mode="edge")
        for i, j in np.argwhere(wins[1:-1, :-1] != wins[1:-1, 1:]):
            ax.plot([j, j], [i, i + 1], color="black", linewidth=2.5)
        for i, j in np.argwhere(wins[:-1, 1:-1] != wins[1:, 1:-1]):
            ax.plot([j, j + 1], [i, i], color="black", linewidth=2.5)
        plot.finish(ax, "logit scale tau", "rho", title)
    return figure


LOGIT_SCALE = Figure(
    "pruning_logit_scale",
    "beyond the source: logit scale against pruning ratio",
    THEORY,
    P3.replace(step_scale=0.02),
    {
        "vary": {
            "tau": [1.0, 3.0, 10.0, 30.0, 100.0],
            "lambda": [round(10 ** (k / 2), 4) for k in range(-4, 5)],
            "rho": [0.1, 0.3, 0.5, 0.7, 0.9],
        },
        "seeds": 8,
        "steps": 400,
        "record": [400],
        "dtype": "float32",
    },
    {
        "config": QUICK,
        "vary": {"tau": [1.0, 100.0], "lambda": [0.1, 1.0, 10.0], "rho": RATIOS},
        "seeds": 2,
        "steps": 1500,
        "record": [1500],
    },
    (),
    draw_logit_scale,
)

# ------------------------------------------------------------------------------------------------------------- calibration size


def draw_calibration(dataset: xr.Dataset) -> Any:
    """Errors at rho = 1/2 on calibration and held-out sequences, as pruned and with the best factor on the logits."""
    figure, axes = plot.panels(2, 2, title=f"Error against the number of calibration sequences ({dataset.sizes['seed']} seeds, rho = 1/2)")
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        errors = tuned(half(dataset), name)
        for colour, (method, label) in enumerate(NAMES.items()):
            plot.series(ax, of(errors, method), "num_sequences", label, colour=colour)
        plot.finish(ax, "S (calibration sequences)", "relative error", title, legend=False, xscale="log")
        ax.set_ylim(0, 1.3)
        ax.set_xticks(dataset.num_sequences.values, [str(v) for v in dataset.num_sequences.values])
        ax.set_xticks([], minor=True)
    legend(figure, axes[0, 0])
    return figure


CALIBRATION = Figure(
    "pruning_calibration",
    "beyond the source: calibration size against held-out error",
    THEORY,
    P3.replace(length=64, step_scale=0.01),
    {
        "vary": {"num_sequences": [1, 4, 16], "lambda": LAMBDAS, "rho": RATIOS},
        "seeds": 8,
        "steps": 600,
        "record": [600],
        "dtype": "float32",
        "buckets": "pad",
    },
    {"config": QUICK, "vary": {"num_sequences": [1, 2], "lambda": LAMBDAS, "rho": RATIOS}, "seeds": 2, "steps": 1500, "record": [1500]},
    (),
    draw_calibration,
)

# ------------------------------------------------------------------------------------------------------------- two masks


def draw_two_masks(dataset: xr.Dataset) -> Any:
    """Errors against lambda at the middle rho, against rho, and against the number of weights kept."""
    figure, axes = plot.panels(3, title=f"One mask on W against a mask on each factor ({dataset.sizes['seed']} seeds)")
    by_lambda, by_ratio, by_count = axes[0]
    middle = float(dataset.pruning_ratio[dataset.sizes["pruning_ratio"] // 2])
    labels = {"gradient_descent": "mask on W", "two_mask": "masks on W_Q and W_K, equation (1)"}
    for colour, (algorithm, label) in enumerate(labels.items()):
        chosen = dataset.sel(algorithm=algorithm)
        errors = of(chosen[PLAIN].isel(step=-1), "gradient")
        plot.series(by_lambda, errors.sel(pruning_ratio=middle), "regularization", label, colour=colour)
        best = of(tuned(chosen, PLAIN), "gradient")
        plot.series(by_ratio, best, "pruning_ratio", label, colour=colour)
        factors = 1 + (algorithm == "two_mask")
        plot.series(by_count, best.assign_coords(pruning_ratio=factors * (1 - best.pruning_ratio)), "pruning_ratio", label, colour=colour)
    for colour, method in ((2, "sparsegpt"), (3, "magnitude")):
        errors = of(tuned(dataset.isel(algorithm=0), PLAIN), method)
        plot.series(by_ratio, errors, "pruning_ratio", NAMES[method], colour=colour)
        factors = 1 + (method == "sparsegpt")
        plot.series(
            by_count,
            errors.assign_coords(pruning_ratio=factors * (1 - errors.pruning_ratio)),
            "pruning_ratio",
            NAMES[method],
            colour=colour,
        )
    plot.finish(by_lambda, "lambda", "relative error, calibration", f"rho = {middle:g}", legend=False, xscale="log")
    plot.finish(by_ratio, "rho", "relative error, calibration", "best lambda, equal rho", legend=False)
    plot.finish(by_count, "weights kept / d^2", "relative error, calibration", "best lambda, equal number of weights", legend=False)
    for ax in axes[0]:
        ax.set_ylim(0, None)
    legend(figure, by_ratio)
    return figure


TWO_MASKS = Figure(
    "pruning_two_masks",
    f"{PAPER}, equation (1), on synthetic data",
    THEORY,
    P3,
    {
        "vary": {
            "algorithm": ["gradient_descent", "two_mask"],
            "lambda": [0.3, 1.0, 3.0, 10.0, 30.0],
            "rho": [0.3, 0.5, 0.65, 0.75, 0.8, 0.9],
        },
        "seeds": 8,
        "steps": 1500,
        "record": [1500],
        "dtype": "float32",
    },
    {"config": QUICK, "vary": {"algorithm": ["gradient_descent", "two_mask"], "lambda": [1.0, 3.0, 10.0], "rho": RATIOS}, "seeds": 4},
    (),
    draw_two_masks,
)

# ------------------------------------------------------------------------------------------------------------- bounds

TAUS = (1.0, 3.0, 10.0)
ETA, WEIGHT = 0.01, 1e-3  # eta = ETA / tau^2: L_g grows like tau^2


def smooth(dataset: xr.Dataset) -> xr.DataArray:
    """Whether eta <= 1 / L_g, with L_g = ||Hessian|| / ratio."""
    eta = dataset.step_scale / WEIGHT
    return eta * dataset.hessian_norm <= dataset.bound_ratio.sel(bound="lipschitz", drop=True)


def draw_bounds(dataset: xr.Dataset) -> Any:
    figure, axes = plot.panels(2, title=f"Theorem 4.1 and its lemmas from a uniform M_0 ({dataset.sizes['seed']} seeds, n = 8, d = 16)")
    left, right = axes[0]
    for colour, tau in enumerate(dataset.logit_scale.values):
        chosen = dataset.sel(logit_scale=tau)
        later = chosen.sel(step=slice(1, None))
        plot.series(left, later.attention_loss, "step", f"tau = {tau:g}", colour=colour, markers=False)
        plot.theory(left, later.step.values, later.predicted_attention_loss_descent.mean("seed"), "", colour=colour)
        ratios = np.log10(chosen.bound_ratio.where(chosen.bound_ratio > 0))
        places = np.arange(ratios.sizes["bound"]) + 0.2 * (colour - 1)
        for seed in range(ratios.sizes["seed"]):
            right.plot(places, 10 ** ratios.isel(seed=seed), plot.MARKERS[colour], color=plot.COLOURS[colour], markersize=3, alpha=0.6)
    plot.finish(left, "step t", "L_attn", "descent; dashed: L(M_0)", xscale="log", yscale="log")
    right.set_xticks(range(dataset.sizes["bound"]), [str(b).replace("_", "\n") for b in dataset.bound.values], fontsize=7)
    plot.theory(right, 0, 1.0, "tight")
    plot.finish(right, "bound", "measured / bound (lower bounds: bound / measured)", "tightness after training", yscale="log")
    return figure


BOUNDS = Figure(
    "pruning_bounds",
    f"{PAPER}, theorem 4.1 and appendices E-G",
    THEORY,
    Config(dimension=16, length=8, mask_init="uniform", momentum=0.0, regularization=WEIGHT),
    {
        "zip": {"logit_scale": TAUS, "step_scale": tuple(WEIGHT * ETA / tau**2 for tau in TAUS)},
        "seeds": 16,
        "steps": 3000,
        "record": [0, 1, 3, 10, 30, 100, 300, 1000, 3000],
        "dtype": "float32",
    },
    {},
    (),
    draw_bounds,
)

# ------------------------------------------------------------------------------------------------------------- initial mask


def draw_initial_mask(dataset: xr.Dataset) -> Any:
    """Calibration errors against lambda for each M_0."""
    figure, axes = plot.panels(
        dataset.sizes["pruning_ratio"], title=f"Error against lambda for each initial mask ({dataset.sizes['seed']} seeds)"
    )
    for ax, rho in zip(axes[0], dataset.pruning_ratio.values, strict=True):
        errors = of(dataset[PLAIN].sel(pruning_ratio=rho).isel(step=-1), "gradient")
        for colour, start in enumerate(dataset.mask_init.values):
            plot.series(ax, errors.sel(mask_init=start), "regularization", f"M_0 = {start}", colour=colour)
        plot.finish(ax, "lambda", "relative error, calibration", f"rho = {rho:g}", legend=rho == dataset.pruning_ratio[0], xscale="log")
        ax.set_ylim(0, None)
    return figure


INITIAL_MASK = Figure(
    "pruning_initial_mask",
    f"{PAPER}, section 6.1 (the initial mask is not given)",
    THEORY,
    P3,
    {
        "vary": {"mask_init": ["ones", "half", "uniform"], "lambda": LAMBDAS, "rho": RATIOS},
        "seeds": 8,
        "steps": 1500,
        "record": [1500],
        "dtype": "float32",
    },
    {"config": QUICK, "vary": {"mask_init": ["ones"], "lambda": LAMBDAS, "rho": RATIOS}, "seeds": 4},
    (),
    draw_initial_mask,
)

FIGURES = (LOGIT_SCALE, CALIBRATION, TWO_MASKS, BOUNDS, INITIAL_MASK)
