"""Made-up results of attention_pruning."""

import numpy as np
import xarray as xr

import jaxtheory

from . import Case

PRUNER = jaxtheory.theories.get("attention_pruning").dims["relative_error"][0]
PLAIN, HELDOUT = "relative_error", "relative_error_heldout"
RESCALED, RESCALED_HELDOUT = "relative_error_rescaled", "relative_error_rescaled_heldout"
ANALYSES = (RESCALED, RESCALED_HELDOUT, "hessian_norm", "stability_ratio", "bound_ratio")


def case(figure, values, holds, drawn=False, n=None):
    """A case whose analyses have no steps; n: the runs left of some claims."""

    def make(d):
        made = {name: d.one * value for name, value in values(d).items()}
        return d.assign(
            {
                name: v.isel(step=-1, drop=True) if name in ANALYSES else v
                for name, v in made.items()
            }
        )

    return Case(figure, make, holds, n or {}, drawn)


def errors(d, gradient, others=0.9, **baselines):
    """Errors of the gradient mask, of some baselines, and of the others."""
    each = {"gradient": gradient} | baselines
    return xr.concat([each.get(name, others) * d.one for name in d[PRUNER].values], d[PRUNER])


def u_curve(d, depth, edge):
    """Errors that rise on both sides of lambda = 10, the step unstable below lambda = edge."""
    limit = 0.2 + 4 * depth
    return {
        PLAIN: errors(d, 0.2 + depth * abs(np.log10(d.regularization) - 1)),
        "stability_ratio": edge / d.regularization,
        "predicted_relative_error_large_lambda": limit,
    }


def doublings(d):
    return np.log2(d.length / 16)


def four(d, plain, heldout, rescaled, rescaled_heldout):
    """The gradient mask's errors in four senses, those of the baselines .7, and .6 held out after
    rescaling.
    """
    return {
        PLAIN: errors(d, plain, 0.7),
        HELDOUT: errors(d, heldout, 0.7),
        RESCALED: errors(d, rescaled, 0.7),
        RESCALED_HELDOUT: errors(d, rescaled_heldout, 0.6),
    }


def masks(d, one, two):
    return {PLAIN: errors(d, xr.where(d.algorithm == "two_mask", two, one))}


def starts(d, uniform):
    return {PLAIN: errors(d, xr.where(d.mask_init == "uniform", uniform, 0.2))}


def descent(d, floor, pace, turn=0.0, power=1.5):
    """L_attn that falls to a floor in lambda within some 1 / lambda steps; `turn` makes the loss
    rise again.
    """
    lam = d.regularization
    attention_loss = floor * lam**power * (1 + 100 * np.exp(-d.step * pace(lam)))
    return {
        "attention_loss": attention_loss,
        "loss": attention_loss + turn * d.step,
        "hessian_norm": 10.0,
        "bound_ratio": 0.01 * xr.ones_like(d.bound, float),
    }


def schedules(d, slower, smaller, floor=0.01, turn=0.0):
    """Losses that fall exponentially: at 1 / L_g so many times as slowly, to a floor of its own,
    and rising again by `turn`; a step so many times as small.
    """
    smooth = d.algorithm == "smooth"
    fall = np.exp(-0.05 * d.step / xr.where(smooth, slower, 1.0))
    return {
        "loss": fall + xr.where(smooth, floor + turn * d.step, 0.01),
        "hessian_norm": smaller / 3,
        "bound_ratio": xr.ones_like(d.bound, float),
    }


def kinds(d, others, heldout):
    """Errors of the gradient mask under the attention masks of the new figure."""
    return {
        PLAIN: errors(d, xr.where(d.attention == "causal", 0.2, others)),
        HELDOUT: errors(d, heldout),
    }


def bounds(d, loss, attention_loss, ratio, pull):
    return {
        "loss": loss,
        "attention_loss": attention_loss,
        "predicted_attention_loss_descent": 1.0,
        "bound_ratio": ratio * xr.ones_like(d.bound, float),
        "gradient_norm": pull,
        "mask_norm": 1.0,
        "hessian_norm": 1.0,
    }


def optimized(d, plain, adam, away):
    """Errors and losses of the descents, of Adam at c = .05, and of Adam elsewhere."""
    at = xr.where(d.step_scale == 0.05, adam, away)
    found = xr.where(d.algorithm == "adam", at, plain)
    return {PLAIN: errors(d, found, 0.7), "loss": found}


CASES = {
    "a U along lambda": case(
        "pruning_lambda", lambda d: u_curve(d, 0.3, 4.0), "1 2 3 4 5 6 7 8 9", drawn=True
    ),
    "no U along lambda": case(
        "pruning_lambda",
        lambda d: {
            PLAIN: errors(d, 0.95),
            "stability_ratio": 4.0,
            "predicted_relative_error_large_lambda": 0.5,
        },
        "",
    ),
    "no step past the edge": case(
        "pruning_lambda", lambda d: u_curve(d, 0.3, 0.4), "1 2 3 4 5 6 8 9", n={"7": 0}
    ),
    "all diverged": case(
        "pruning_lambda",
        lambda d: u_curve(d, np.nan, 4.0),
        "",
        n=dict.fromkeys("234579", 0),
    ),
    "longer is harder": case(
        "pruning_length",
        lambda d: {
            PLAIN: errors(
                d,
                0.2 + 0.05 * doublings(d),
                wanda=0.8 + 0.06 * doublings(d),
                sparsegpt=0.9 + 0.06 * doublings(d),
            )
        },
        "10 11 12 13 14",
        drawn=True,
    ),
    "longer is easier for Wanda": case(
        "pruning_length", lambda d: {PLAIN: errors(d, 0.9, wanda=1.6 - 0.15 * doublings(d))}, ""
    ),
    "ratios as measured": case(
        "pruning_ratio",
        lambda d: {
            name: errors(
                d,
                0.2
                + 0.1 * (d.pruning_ratio < 0.06)
                + 0.2 * (d.pruning_ratio > 0.85)
                + 0.2 * d["clip"],
                wanda=0.1 + d.pruning_ratio,
                sparsegpt=0.05 + d.pruning_ratio,
            )
            for name in (PLAIN, RESCALED)
        },
        "15 16 17 18 19 20 21",
        drawn=True,
    ),
    "the mask rises and the baselines do not": case(
        "pruning_ratio", lambda d: {PLAIN: errors(d, 0.2 + 0.2 * d.pruning_ratio, 0.3)}, ""
    ),
    "pays off for sharp attention, on calibration data": case(
        "pruning_logit_scale",
        lambda d: four(d, *2 * (xr.where(d.logit_scale == 1, 0.9, 0.5), 1.0)),
        "22 23 24 25",
        drawn=True,
    ),
    "pays off for smooth attention, everywhere": case(
        "pruning_logit_scale",
        lambda d: four(d, *2 * (xr.where(d.logit_scale == 1, 0.5, 0.9), 0.5)),
        "",
    ),
    "fits its calibration data": case(
        "pruning_calibration",
        lambda d: four(d, 0.2, 1.3 - 0.1 * np.log2(d.num_sequences), 0.2, 0.6),
        "26 27 28 29 30 31",
        drawn=True,
    ),
    "generalizes, but does not fit": case(
        "pruning_calibration", lambda d: four(d, 0.7, 0.5, 0.7, 0.6), ""
    ),
    "one mask is better": case(
        "pruning_two_masks", lambda d: masks(d, 0.3, 0.5), "32 33", drawn=True
    ),
    "two masks are better, and no better than the baselines": case(
        "pruning_two_masks", lambda d: masks(d, 0.89, 0.88), ""
    ),
    "any start": case("pruning_initial_mask", lambda d: starts(d, 0.25), "34", drawn=True),
    "bad starts": case("pruning_initial_mask", lambda d: starts(d, 0.4), ""),
    "a better start": case("pruning_initial_mask", lambda d: starts(d, 0.05), ""),
    "loose bounds": case(
        "pruning_bounds",
        lambda d: bounds(d, 1 / (1 + d.step), 0.5, 0.5, 1e-4),
        "35 37 38",
        drawn=True,
    ),
    "violated bounds": case("pruning_bounds", lambda d: bounds(d, 1 + d.step, 2.0, 1.1, 10.0), ""),
    "no step below 1 / L_g": case(
        "pruning_bounds",
        lambda d: bounds(d, 1 + d.step, 0.5, 0.5, 1e-4) | {"hessian_norm": 1e9},
        "37 38",
        n={"35": 0},
    ),
    "a floor and a run time as in the source": case(
        "pruning_theorem", lambda d: descent(d, 1.0, lambda lam: 3 * lam), "36 39 40", drawn=True
    ),
    "a floor that stays, at once, and a loss that rises": case(
        "pruning_theorem", lambda d: descent(d, 1.0, lambda lam: 1.0, 1.0, 0.5), ""
    ),
    "diverged": case(
        "pruning_theorem",
        lambda d: descent(d, np.nan, lambda lam: lam),
        "",
        n={"36": 0, "39": 0, "40": 0},
    ),
    "as much slower as its step is smaller": case(
        "pruning_schedule", lambda d: schedules(d, 50.0, 50.0), "43 44 45 46", drawn=True
    ),
    "hardly slower, to a larger loss that rises": case(
        "pruning_schedule", lambda d: schedules(d, 5.0, 50.0, 0.015, 3e-9), ""
    ),
    "as good under other attention": case(
        "pruning_attention_mask", lambda d: kinds(d, 0.3, 1.2), "41 42", drawn=True
    ),
    "worse under other attention": case("pruning_attention_mask", lambda d: kinds(d, 0.8, 0.5), ""),
    "optimizers as measured": case(
        "pruning_optimizers", lambda d: optimized(d, 0.2, 0.201, 0.5), "47 48 49 50", drawn=True
    ),
    "Adam fails at c = .05 alone": case(
        "pruning_optimizers", lambda d: optimized(d, 0.6, 0.75, 0.6), ""
    ),
}
