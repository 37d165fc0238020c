"""Made-up results of attention_pruning."""

import numpy as np
import xarray as xr

import jaxtheory

from . import Case, boundary_data

PRUNER = jaxtheory.theories.get("attention_pruning").dims["relative_error"][0]
PLAIN, HELDOUT = "relative_error", "relative_error_heldout"
RESCALED, RESCALED_HELDOUT = "relative_error_rescaled", "relative_error_rescaled_heldout"
ANALYSES = (RESCALED, RESCALED_HELDOUT, "hessian_norm", "stability_ratio", "bound_ratio")


def case(figure, values, holds, drawn=False):
    """A case whose analyses have no steps."""

    def make(d):
        metrics = {name: d.one * value for name, value in values(d).items()}
        return d.assign(
            {
                name: v.isel(step=-1, drop=True) if name in ANALYSES else v
                for name, v in metrics.items()
            }
        )

    return Case(figure, make, holds, drawn=drawn)


def errors(d, gradient, default=0.9, **baselines):
    """Errors of the gradient mask, of some baselines, and of the others."""
    levels = {"gradient": gradient} | baselines
    return xr.concat([levels.get(name, default) * d.one for name in d[PRUNER].values], d[PRUNER])


def u_curve(d, depth, edge):
    """Errors that rise on both sides of lambda = 10, twice as fast to the left, where the step is
    unstable below lambda = edge.
    """
    limit = 0.2 + 4 * depth
    away = np.log10(d.regularization) - 1
    return {
        PLAIN: errors(d, 0.2 + depth * np.maximum(away, -2 * away)),
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


def descent(d, floor, pace, power=1.5):
    """L_attn that falls to a floor in lambda within some 1 / lambda steps."""
    lam = d.regularization
    return {"attention_loss": floor * lam**power * (1 + 100 * np.exp(-d.step * pace(lam)))}


def schedules(d, slower, smaller, floor=0.01):
    """Losses that fall exponentially: at 1 / L_g so many times as slowly, to a floor of its own; a
    step so many times as small.
    """
    smooth = d.algorithm == "smooth"
    fall = np.exp(-0.05 * d.step / xr.where(smooth, slower, 1.0))
    return {
        "loss": fall + xr.where(smooth, floor, 0.01),
        "hessian_norm": smaller / 3,
        "bound_ratio": xr.ones_like(d.bound, float),
    }


def kinds(d, noncausal, heldout):
    """Errors of the gradient mask under the attention masks of the new figure."""
    return {
        PLAIN: errors(d, xr.where(d.attention == "causal", 0.2, noncausal)),
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
    }


CASES = {
    "a U along lambda": case(
        "pruning_lambda", lambda d: u_curve(d, 0.3, 4.0), "1 2 6 7 9", drawn=True
    ),
    "no U along lambda": case(
        "pruning_lambda",
        lambda d: {
            PLAIN: errors(d, 0.95 + 0.01 * np.log10(d.regularization)),
            "stability_ratio": 4.0,
            "predicted_relative_error_large_lambda": 0.5,
        },
        "",
    ),
    "no step past the edge with one preset": case(
        "pruning_lambda",
        lambda d: u_curve(d, 0.3, xr.where(d.preset == "P1", 0.4, 4.0)),
        "1 2 6 7 9",
    ),
    "some runs diverged": case(
        "pruning_lambda", lambda d: u_curve(d, xr.where(d.seed < 4, np.nan, 0.3), 4.0), "2 6 7 9"
    ),
    "lengths as in the source": case(
        "pruning_length",
        lambda d: {
            PLAIN: errors(
                d,
                0.2 + 0.01 * doublings(d),
                wanda=0.8 + 0.06 * doublings(d),
                sparsegpt=0.85 + 0.06 * doublings(d),
            )
        },
        "10 11 13 14 53 54",
        drawn=True,
    ),
    "lengths as measured": case(
        "pruning_length",
        lambda d: {
            PLAIN: errors(
                d,
                0.1 + 0.07 * doublings(d),
                wanda=0.8 + 0.02 * doublings(d),
                sparsegpt=0.4 + 0.1 * doublings(d),
            )
        },
        "10 11 55",
    ),
    "longer is easier for Wanda": case(
        "pruning_length",
        lambda d: {PLAIN: errors(d, 0.9 + 0.01 * doublings(d), wanda=1.6 - 0.15 * doublings(d))},
        "55",
    ),
    "ratios as measured": case(
        "pruning_ratio",
        lambda d: {
            name: errors(
                d,
                0.2 + 0.1 * (d.pruning_ratio < 0.06) + 0.2 * (d.pruning_ratio > 0.85),
                wanda=0.1 + d.pruning_ratio,
                sparsegpt=0.05 + d.pruning_ratio,
            )
            for name in (PLAIN, RESCALED)
        },
        "18 51",
        drawn=True,
    ),
    "ratios as in the source": case(
        "pruning_ratio",
        lambda d: {PLAIN: errors(d, 0.05 + 0.2 * d.pruning_ratio, 0.1 + d.pruning_ratio)},
        "16 20 51 52",
    ),
    "a mask that is worse at every ratio": case(
        "pruning_ratio", lambda d: {PLAIN: errors(d, 1.5 - 0.1 * d.pruning_ratio, 0.3)}, "18 52"
    ),
    "pays off for sharp attention, on calibration data": case(
        "pruning_logit_scale",
        lambda d: four(d, *2 * (xr.where(d.logit_scale == 1, 0.9, 0.5), 1.0)),
        "24",
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
        "26",
        drawn=True,
    ),
    "generalizes, but does not fit": case(
        "pruning_calibration", lambda d: four(d, 0.7, 0.5, 0.7, 0.6), ""
    ),
    "one mask is better": case("pruning_two_masks", lambda d: masks(d, 0.3, 0.5), "33", drawn=True),
    "two masks are better": case("pruning_two_masks", lambda d: masks(d, 0.89, 0.88), ""),
    "loose bounds": case(
        "pruning_bounds",
        lambda d: bounds(d, 1 / (1 + d.step), 0.5, 0.5, 1e-4),
        "37 38",
        drawn=True,
    ),
    "violated bounds": case("pruning_bounds", lambda d: bounds(d, 1 + d.step, 2.0, 1.1, 10.0), ""),
    "a floor and a run time as in the source": case(
        "pruning_theorem", lambda d: descent(d, 1.0, lambda lam: 3 * lam), "36 39", drawn=True
    ),
    "a floor that stays, at once": case(
        "pruning_theorem", lambda d: descent(d, 1.0, lambda lam: 1.0, 0.5), ""
    ),
    "some descents diverged": case(
        "pruning_theorem",
        lambda d: descent(d, xr.where(d.seed < 4, np.nan, 1.0), lambda lam: 3 * lam),
        "36 39",
    ),
    "as much slower as its step is smaller": case(
        "pruning_schedule", lambda d: schedules(d, 50.0, 50.0), "43", drawn=True
    ),
    "hardly slower, to a larger loss": case(
        "pruning_schedule", lambda d: schedules(d, 5.0, 50.0, 0.015), ""
    ),
    "as good under other attention": case(
        "pruning_attention_mask", lambda d: kinds(d, 0.3, 1.2), "41", drawn=True
    ),
    "worse under other attention": case("pruning_attention_mask", lambda d: kinds(d, 0.8, 0.5), ""),
    "the loss falls up to the edge of stability": Case(
        "pruning_step",
        lambda d: boundary_data(d, 0.99e-3, law=1e-3, allowed=1e-6),
        "56 57",
        drawn=True,
    ),
    "the loss falls as far as the theorem says": Case(
        "pruning_step", lambda d: boundary_data(d, 1e-6, law=1e-3, allowed=1e-6), ""
    ),
}
