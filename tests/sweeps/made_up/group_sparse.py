"""Made-up results of group_sparse."""

import numpy as np
import xarray as xr

from . import Case, boundary_data

D, N = "num_groups", "num_samples"


def where(d, dim, **values):
    """A value for the labels of a dimension that contain a word, 0 elsewhere."""
    picked = [
        next((v for word, v in values.items() if word.replace("_", " ") in str(label)), 0.0)
        for label in d[dim].values
    ]
    return xr.DataArray(picked, {dim: d[dim].values}, [dim])


def samples(end):
    """Attention of the population, and 0.9 on samples."""
    return lambda d: {"relevant_attention": xr.where(d.run == "population", end, 0.9)}


def edge(d):
    """The edge of stability of the bias."""
    return 16 / (d[D] * (d[D] + 1))


def stability(samples, population):
    return lambda d: {
        "relevant_attention": xr.where(d.algorithm == "population", population, samples)
    }


def rate(in_groups, to_select, in_features, size=1.0, base=170, in_time=-1 / 3):
    """Losses and attention by power laws; to_select: the exponent of D in the time to select."""

    def values(d):
        law = 0.3 * 4.0 ** (-2 / 3) * (d.step + 1e-9) ** (-1 / 3)
        loss = (
            0.3
            * d[D] ** float(in_groups)
            * (d.step + 1e-9) ** in_time
            * (d.group_dim / 4) ** in_features
        )
        missing = (0.1 * (d.step / (base * (d[D] / 4) ** to_select) + 1e-9) ** -0.7).clip(max=0.75)
        return {
            "loss": loss,
            "test_loss": loss,
            "predicted_loss_rate": law,
            "relevant_attention_min": 1 - missing,
        } | {
            "value_norm": size * d.step ** (1 / 3),
            "predicted_value_norm_rate": d.step ** (1 / 3),
        }

    return values


def complexity(frozen, logistic, lead):
    """Errors by powers of k = d = D, the margin and the number of samples, (k, gamma, n) with W
    frozen and for logistic regression, whose error starts `lead` times as large.
    """

    def error(d, start, of_k, of_margin, of_n):
        n = (d.step - 200).clip(min=1) / 10
        return start * (d[D] / 3) ** of_k * (d.margin / 0.1) ** of_margin * n**of_n

    return lambda d: {
        "accuracy": 1
        - xr.where(
            d.algorithm == "logistic", error(d, 0.2 * lead, *logistic), error(d, 0.2, *frozen)
        )
    }


def schedule(missing, loss, angle):
    """What is missing as a function of D and t, the loss by powers of D and t, the direction error
    by a power of n.
    """

    def values(d):
        t = (d.step + 1e-9) / 64
        lost = 0.3 * (d[D] / 4.0) ** loss[0] * t ** loss[1]
        return {
            "relevant_attention_min": 1 - missing(d[D] / 4, t),
            "relevant_attention_worst": 1 - 2 * missing(d[D] / 4, t),
            "test_loss": lost,
            "predicted_loss_rate": lost,
            "value_cosine": 1 - 0.5 * (0.1 * (d[N] / 250) ** angle) ** 2,
        }

    return values


def direction(first, late):
    """The error of the direction: its square after one step over that of the noise of samples, and
    a function of D and t later.
    """

    def values(d):
        squared = xr.where(
            d.step == 1, first * np.pi * d[D] * 3 / 1000, late(d[D], d.step + 1) ** 2
        )
        return {"value_cosine": 1 - squared / 2}

    return values


def unlucky(d, size, of_n, power):
    """Errors by an exponential law over seeds, to a power, times a power of n."""
    law = -np.log(1 - (d.seed + 0.5) / d.sizes["seed"])
    return {"downstream_error": size * law**power * (d.step / 25) ** of_n}


def downstream(frozen, scratch):
    return lambda d: {"accuracy": where(d, "run", frozen=frozen, scratch=scratch)}


def margin(d, alignment=0.98, positions=0.99, fall=0.08, large=-0.1):
    """Cosines by way of training: up at step 10, and down again where samples are few."""
    best = xr.where(d.step > 0, alignment, 0.0)
    small_sample = best - fall * (d.step > 10)
    ways = {"n = 100, η = 0.1": small_sample, "n = 500, η = 0.1": best, "n = 500, η = 2": large}
    cosine = sum(xr.where(d.training == name, values, 0) for name, values in ways.items())
    return {"direction": cosine, "of_positions": positions}


CASES = {
    "pre-training as measured": Case(
        "groups_pretraining",
        lambda d: {"value_cosine": 0.9999, "relevant_attention": 0.9},
        "2",
    ),
    "pre-training that selects fully, in another direction": Case(
        "groups_pretraining",
        lambda d: {"value_cosine": 0.9, "relevant_attention": 0.99},
        "",
    ),
    "a population that selects": Case("groups_samples", samples(0.97), "12"),
    "a population that does not": Case("groups_samples", samples(0.9), ""),
    "selection on the population alone": Case("groups_stability", stability(0.15, 0.97), "15"),
    "selection on samples alone": Case("groups_stability", stability(0.9, 0.3), ""),
    "rates as derived": Case("groups_rate", rate(-2 / 3, 0.1, 0.0), "20 21 22 23 24"),
    "rates of the source": Case("groups_rate", rate(-1.0, 3.0, 0.5, 1.1, 15, -0.6), "19"),
    "schedule as measured": Case(
        "groups_schedule",
        schedule(lambda D, t: 0.2 * t**-0.6, (-2 / 3, -1 / 3), -0.6),
        "42 43 44 51 52",
    ),
    "schedule of the theorem": Case(
        "groups_schedule",
        schedule(lambda D, t: 0.2 * np.exp(2 - 2 * D), (-1, -1 / 3), -0.6),
        "25 41 42 43 44 51 52",
    ),
    "schedule that selects no more": Case(
        "groups_schedule",
        lambda d: (
            schedule(lambda D, t: 0.2 * D**0.1 + 0 * t, (0.0, 0.0), -2.0)(d)
            | {"predicted_loss_rate": 1.0, "value_cosine": 1 - 0.1 / (1 + d.step) / d[D] ** 4.0}
        ),
        "",
    ),
    "directions of noise": Case(
        "groups_direction", direction(1.0, lambda D, t: 0.02 * D**0.0), "63", drawn=True
    ),
    "directions of the theorem": Case(
        "groups_direction", direction(3.0, lambda D, t: t ** (-1 / 3) / D), "61 62"
    ),
    "exponential tails": Case(
        "groups_probability", lambda d: unlucky(d, 0.05, -1.0, 1), "64 65 66", drawn=True
    ),
    "heavy tails at any n": Case("groups_probability", lambda d: unlucky(d, 0.5, 0.0, 2), ""),
    "downstream as measured": Case("groups_downstream", downstream(0.97, 0.7), "27"),
    "downstream without gain": Case("groups_downstream", downstream(0.9, 0.85), ""),
    "complexity as in the theorem": Case(
        "groups_complexity", complexity((1, -1, -0.9), (2, -1, -0.9), 1.5), "33 34 35 38 39"
    ),
    "complexity without gain": Case(
        "groups_complexity", complexity((1, 0.5, -0.5), (1, 0.5, -1), 0.9), ""
    ),
    "errors that fall to .1 in three runs alone": Case(
        "groups_complexity",
        lambda d: {
            "accuracy": xr.where(
                d.seed < 3,
                complexity((1, -1, -0.9), (2, -1, -0.9), 1.5)(d)["accuracy"],
                complexity((0, -1, 0), (0, -1, 0), 1.5)(d)["accuracy"],
            )
        },
        "33 35 38 39",
    ),
    "features": Case("groups_features", downstream(0.9, 0.7), "36"),
    "features that do not transfer": Case("groups_features", downstream(0.7, 0.7), ""),
    "groups go to the max margin, and leave it": Case("groups_margin", margin, "55 56 57 58"),
    "groups that do not": Case("groups_margin", lambda d: margin(d, 0.9, 0.9, 0.0, 0.9), ""),
    "the loss falls up to the edge": Case(
        "groups_step",
        lambda d: boundary_data(d, 17 / (d[D] * (d[D] + 1)), law=edge(d)),
        "53",
        drawn=True,
    ),
    "the loss falls up to an eta of order 1": Case(
        "groups_step", lambda d: boundary_data(d, 0.5, law=edge(d)), ""
    ),
}
