"""Made-up results of group_sparse."""

import numpy as np
import xarray as xr

from . import Case

D, N, ETA = "num_groups", "num_samples", "learning_rate"


def where(d, dim, **values):
    """A value for the labels of a dimension that contain a word, 0 elsewhere."""
    picked = [
        next((v for word, v in values.items() if word.replace("_", " ") in str(label)), 0.0)
        for label in d[dim].values
    ]
    return xr.DataArray(picked, {dim: d[dim].values}, [dim])


def pretraining(loss, attention, fall, spike):
    def values(d):
        early = xr.where(
            (d.step == 10) & (d[ETA] == 0.5), spike, loss * (100 / (d.step + 1)) ** 0.4
        )
        return {
            "loss": early.clip(max=max(spike, 0.69)),
            "value_cosine": 1 - 1e-4 * fall / 0.1,
            "value_norm_ratio": 1 - 1e-3 * fall / 0.1,
            "relevant_attention": attention,
            "relevant_attention_min": attention - fall * d.step / 1000,
            "predicted_loss_selected": 0.02,
            "test_loss": 0.05 if fall > 0 else 0.01,
        }

    return values


def samples(exponent, end):
    """Deficits and forms of W by power laws of n."""
    return lambda d: {
        "relevant_attention": xr.where(
            d.run == "population", end, 1 - 0.1 * (d[N] / 125) ** (exponent / 2)
        ),
        "off_structure": d[N] ** float(exponent),
        "feature_attention": -0.3 if exponent else 0.0,
        "feature_attention_rest": 0.02,
    }


def stability(edge, chance, accuracy, population):
    return lambda d: {
        "relevant_attention": xr.where(
            d.algorithm == "population",
            population,
            xr.where((d[ETA] * d[D] ** 2).round() <= edge, 0.9, chance),
        ),
        "accuracy": accuracy,
    }


def rate(in_groups, in_time, to_select, in_features, base=170):
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
            "value_norm": d.step**-in_time,
            "predicted_value_norm_rate": d.step ** (1 / 3),
        }

    return values


def downstream(frozen, trained, scratch, logistic, fit):
    return lambda d: {
        "accuracy": where(
            d, "run", frozen=frozen, trained=trained, scratch=scratch, logistic=logistic, fit=fit
        )
    }


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
            "test_loss": lost,
            "predicted_loss_rate": lost,
            "value_cosine": 1 - 0.5 * (0.1 * (d[N] / 250) ** angle) ** 2,
        }

    return values


def features(frozen, scratch, logistic):
    return lambda d: {
        "accuracy": where(d, "run", frozen=frozen, scratch=scratch, logistic=logistic)
    }


def optimized(attention, cosine, adam_attention, value, test_loss):
    """Descents that are alike, and what Adam has for each."""

    def values(d):
        adam = d.algorithm == "adam"
        return {
            "relevant_attention": xr.where(adam, adam_attention, attention),
            "value_cosine": cosine,
            "value_norm_ratio": xr.where(adam, value, 1.0),
            "loss": xr.where(adam, 0.02, 0.04),
            "test_loss": xr.where(adam, test_loss, 0.1),
        }

    return values


CASES = {
    "pre-training as measured": Case(
        "groups_pretraining", pretraining(0.03, 0.9, 0.1, 0.8), "1 2 3 4 5 6 7 8 9"
    ),
    "pre-training that selects fully, without a spike": Case(
        "groups_pretraining", pretraining(0.2, 0.99, 0.0, 0.69), "2 3 4 8"
    ),
    "pre-training that fails": Case(
        "groups_pretraining",
        lambda d: pretraining(0.2, 0.3, 3.0, 0.69)(d) | {"loss": 1 + 0.1 * d.step},
        "5 6 7",
    ),
    "more samples, better selection": Case("groups_samples", samples(-1.0, 0.97), "10 11 12 13"),
    "more samples do not help": Case("groups_samples", samples(0.0, 0.9), ""),
    "selection up to an edge": Case(
        "groups_stability", stability(24, 0.15, 0.95, 0.97), "14 15 16 17"
    ),
    "selection everywhere": Case("groups_stability", stability(99, 0.9, 0.99, 0.97), "14 15 17"),
    "no selection": Case("groups_stability", stability(9, 0.5, 0.8, 0.3), ""),
    "rates as derived": Case("groups_rate", rate(-2 / 3, -1 / 3, 0.1, 0.0), "18 20 21 22 23 24"),
    "rates of the source": Case("groups_rate", rate(-1.0, -0.6, 3.0, 0.5, 15), "19"),
    "selection faster for larger D": Case(
        "groups_rate", rate(-2 / 3, -1 / 3, -2.0, 0.0), "18 20 21 22 23"
    ),
    "schedule as measured": Case(
        "groups_schedule",
        schedule(lambda D, t: 0.2 * t**-0.6, (-2 / 3, -1 / 3), -0.6),
        "26 42 43 44 45",
    ),
    "schedule of the theorem": Case(
        "groups_schedule",
        schedule(lambda D, t: 0.2 * np.exp(2 - 2 * D), (-1, -1 / 3), -0.6),
        "25 41 42 43 44 45",
    ),
    "schedule that selects no more": Case(
        "groups_schedule",
        lambda d: (
            schedule(lambda D, t: 0.2 * D**0.1 + 0 * t, (0.0, 0.0), -2.0)(d)
            | {"predicted_loss_rate": 1.0, "value_cosine": 1 - 0.1 / (1 + d.step)}
        ),
        "",
    ),
    "downstream as measured": Case(
        "groups_downstream", downstream(0.97, 0.85, 0.7, 0.93, 0.98), "27 28 29 30 31"
    ),
    "downstream far better than what is fitted": Case(
        "groups_downstream", downstream(0.94, 0.95, 0.85, 0.93, 0.8), ""
    ),
    "complexity as in the theorem": Case(
        "groups_complexity", complexity((1, -1, -0.9), (2, -1, -0.9), 1.5), "32 33 34 35 38 39"
    ),
    "complexity without gain": Case(
        "groups_complexity", complexity((1, 0.5, -0.5), (1, 0.5, -1), 0.9), "40"
    ),
    "errors that never fall to .1": Case(
        "groups_complexity",
        complexity((0, -1, 0), (0, -1, 0), 1.5),
        "32 33",
        {"35": 8, "38": 8, "39": 8},
    ),
    "features": Case("groups_features", features(0.9, 0.7, 0.8), "36 37"),
    "features that do not transfer": Case("groups_features", features(0.7, 0.7, 0.7), ""),
    "optimizers as measured": Case(
        "groups_optimizers", optimized(0.85, 0.999, 0.7, 0.9, 0.2), "46 47 49 50", drawn=True
    ),
    "Adam selects, the others do not": Case(
        "groups_optimizers", optimized(0.7, 0.9, 0.9, 0.99, 0.1), "48"
    ),
}
