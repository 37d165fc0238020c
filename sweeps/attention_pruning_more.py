"""Beyond figure 2 of arXiv 2410.11261: where the gradient mask pays off, whether it generalises, two masks, M_0.

Errors and claims on means as in `attention_pruning.py`. lambda is chosen per run by the error on the calibration sequences.
"""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot, verdicts
from jaxtheory.theories.attention_pruning import P3

MAIN = jaxtheory.theories.load(Path(__file__).with_name("attention_pruning.py"))
THEORY, PAPER, NAMES, QUICK, LAMBDAS, RATIOS = MAIN.THEORY, MAIN.PAPER, MAIN.NAMES, MAIN.QUICK, MAIN.LAMBDAS, MAIN.RATIOS
of, half, legend = MAIN.of, MAIN.half, MAIN.legend

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


def best(dataset: xr.Dataset) -> xr.DataArray:
    """The gradient mask's calibration error at the best lambda."""
    return of(dataset[PLAIN].isel(step=-1), "gradient").min("regularization")


# ------------------------------------------------------------------------------------------------------------- logit scale

OUTER: Any = {"coords": "minimal", "compat": "override"}  # lambda's place differs between what is compared


def draw_logit_scale(dataset: xr.Dataset) -> Any:
    """Four phase diagrams; black lines enclose where the mask is better than every baseline."""
    figure, axes = plot.panels(
        2,
        2,
        title=f"Gradient mask minus the best baseline ({dataset.sizes['seed']} seeds, best of {dataset.sizes['regularization']} lambdas)",
    )
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        mean = lead(dataset, name, *BASELINES).mean("seed")
        plot.heat(ax, mean, "logit_scale", "pruning_ratio", label="difference in relative error", span=(-0.8, 0.8))
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
            "lambda": [round(10 ** (k / 2), 4) for k in range(-6, 4)],
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
    (
        Claim(
            "AP-22",
            "derived",
            "At literal scale (tau = 100) and rho >= .3 the mask beats every baseline on calibration data, by at least .05.",
            "holds",
            lambda d: verdicts.at_most(lead(d, PLAIN, *BASELINES).sel(logit_scale=100.0, pruning_ratio=slice(0.25, None)), -0.05),
        ),
        Claim(
            "AP-23",
            "derived",
            "The same with the best factor on the logits.",
            "holds",
            lambda d: verdicts.at_most(lead(d, RESCALED, *BASELINES).sel(logit_scale=100.0, pruning_ratio=slice(0.25, None)), -0.05),
        ),
        Claim(
            "AP-24",
            "derived",
            "For smooth attention (tau = 1) and rho <= .5 it is worse than Wanda and SparseGPT even on calibration data.",
            "holds",
            lambda d: verdicts.at_least(lead(d, PLAIN, "wanda", "sparsegpt").sel(logit_scale=1.0, pruning_ratio=slice(None, 0.55)), 0.03),
        ),
        Claim(
            "AP-25",
            "derived",
            "On held-out sequences a baseline is better everywhere in the diagram, with and without the factor.",
            "holds",
            lambda d: verdicts.at_least(xr.concat([lead(d, n, *BASELINES) for n in (HELDOUT, RESCALED_HELDOUT)], "name", **OUTER), 0.0),
        ),
    ),
    draw_logit_scale,
)

# ------------------------------------------------------------------------------------------------------------- calibration size


def gap(dataset: xr.Dataset) -> xr.DataArray:
    """Held-out minus calibration error of the gradient mask at rho = 1/2."""
    return of(tuned(half(dataset), HELDOUT) - tuned(half(dataset), PLAIN), "gradient")


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
    (
        Claim(
            "AP-26",
            f"{PAPER}, section 6.1, if its gains are to hold on other data",
            "Calibrated on one sequence, the mask beats Wanda and SparseGPT on held-out sequences in most runs.",
            "refuted",
            lambda d: verdicts.mean_at_least(lead(half(d), HELDOUT, "wanda", "sparsegpt").sel(num_sequences=1) < 0, 0.5),
        ),
        Claim(
            "AP-27",
            f"{PAPER}, section 6.1",
            "On its calibration sequences it beats every baseline by at least .1, for 1, 4 and 16 sequences.",
            "holds",
            lambda d: verdicts.at_most(lead(half(d), PLAIN, *BASELINES), -0.1),
        ),
        Claim(
            "AP-28",
            "derived",
            "The same with the best factor on the logits.",
            "holds",
            lambda d: verdicts.at_most(lead(half(d), RESCALED, *BASELINES), -0.05),
        ),
        Claim(
            "AP-29",
            "derived",
            "The gap between held-out and calibration error falls by at least .3 from 1 sequence to 16.",
            "holds",
            lambda d: verdicts.at_most(gap(d).isel(num_sequences=-1) - gap(d).isel(num_sequences=0), -0.3),
        ),
        Claim(
            "AP-30",
            "derived",
            "With 16 sequences magnitude pruning of W is still better on held-out ones, by at least .1.",
            "holds",
            lambda d: verdicts.at_least(lead(half(d), HELDOUT, "magnitude").isel(num_sequences=-1), 0.1),
        ),
        Claim(
            "AP-31",
            "derived",
            "One factor on the logits, chosen on calibration data, lowers every method's held-out error by at least .05.",
            "holds",
            lambda d: verdicts.at_least((tuned(half(d), HELDOUT) - tuned(half(d), RESCALED_HELDOUT)).sel({"pruner": list(NAMES)}), 0.05),
        ),
    ),
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
    plot.finish(by_count, "weights kept / d^2", "relative error, calibration", "best lambda, by weights kept", legend=False)
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
    (
        Claim(
            "AP-32",
            f"{PAPER}, equation (1)",
            "For rho >= .5 two masks beat Wanda and SparseGPT on calibration data, by at least .05.",
            "holds",
            lambda d: verdicts.at_most(
                lead(d.sel(algorithm="two_mask"), PLAIN, "wanda", "sparsegpt").sel(pruning_ratio=slice(0.45, None)), -0.05
            ),
        ),
        Claim(
            "AP-33",
            "derived",
            "At equal rho one mask on W has the smaller calibration error, by at least .03, though it keeps half as many weights.",
            "holds",
            lambda d: verdicts.at_least(best(d).sel(algorithm="two_mask") - best(d).sel(algorithm="gradient_descent"), 0.03),
        ),
    ),
    draw_two_masks,
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
        ax.set_ylim(0, 0.6)
        ax.set_xticks(dataset.regularization.values, [f"{v:g}" for v in dataset.regularization.values])
        ax.set_xticks([], minor=True)
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
    (
        Claim(
            "AP-34",
            "derived",
            "The initial mask moves the error at the best lambda by less than .12.",
            "holds",
            lambda d: verdicts.at_most(best(d) - best(d).sel(mask_init="ones"), 0.12),  # measured .00 (half) and .02 to .03 (uniform)
        ),
    ),
    draw_initial_mask,
)

FIGURES = (LOGIT_SCALE, CALIBRATION, TWO_MASKS, INITIAL_MASK)
