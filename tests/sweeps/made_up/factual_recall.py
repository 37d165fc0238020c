"""Made-up results of factual_recall."""

import numpy as np
import xarray as xr

from . import Case


def rise(d, at, width=0.1):
    """A step from 0 to 1 at a time, smooth in its logarithm."""
    return 1 / (1 + np.exp(-(np.log(d.step + 1e-9) - np.log(at)) / width))


def stages(d, order=1.0, height=1.0, growth=1.0, noise=(20.0, 0.1), lost=200.0):
    """Relations at a tenth of the run and subjects at half of it."""
    end, single = float(d.step[-1]), d.num_draws == 1
    first = rise(d, 0.1 * end)
    second = order * rise(d, 0.5 * end) + (1 - order) * first
    law = np.minimum(1e-3 * np.exp(60 * d.step / end), 1)
    right, mass = 0.03 + 0.14 * height * first + 0.8 * second, 0.2 + 0.8 * first
    loss = 3.47 - (3.47 - 1.89 * height) * first - 1.89 * height * second * 0.99
    subject = 2 * second + 1e-3
    return {
        "loss": loss,
        "test_loss": loss * xr.where(single, lost, 1),
        "relation_mass": mass,
        "right": right,
        "hallucination": mass - right,
        "right_given_relation": right / mass,
        "relation_score": growth * law,
        "subject_score": subject,
        "noise_score": subject * xr.where(single, *noise),
        "predicted_loss_uniform": 3.47,
        "predicted_loss_relation": 1.89,
        "predicted_right_relation": 0.17,
        "predicted_relation_score_growth": law,
    }


def times(d, first=1.0, second=1.0, power=(1.2, 0.42), lead=0.8):
    """A loss that falls in two stages at multiples of the laws' times."""
    by_relation = d.num_subjects > d.num_relations
    length = 0.35 * d.num_subjects ** power[0] * d.num_relations ** power[1]
    relation = xr.where(by_relation, 10.0, 28.0)
    subject = xr.where(by_relation, 10 + length, 17.0)
    early, late = np.minimum(relation, subject), np.maximum(relation, subject)
    steps = -np.log(d.init_scale) / 0.5
    height = xr.where(by_relation, 2.0, 1.4)
    one, two = rise(d, first * early * steps), rise(d, second * late * steps)
    return {
        "loss": 3 - (3 - height) * one - height * two,
        "subject_mass": 0.1 + xr.where(by_relation, 0.05, lead) * one,
        "relation_mass": 0.1 + xr.where(by_relation, 0.8, 0.05) * one,
        "relation_time": relation,
        "subject_times": subject * xr.ones_like(d.subject, float),
        "predicted_loss_uniform": 3.0,
        "predicted_loss_relation": 2.0,
        "predicted_loss_subject": 1.4,
    }


def capacity(d, power=2.0):
    """A share that falls with the number of facts over a power of d."""
    facts = d.num_subjects * d.num_relations
    return {"accuracy": 1 / (1 + (facts / (1.6 * 12 ** (2 - power)) / d.dimension**power) ** 2.2)}


def zipf(d, power=1.0, adam=0.04, law=1.0):
    """Facts that are recalled at a power of the rank."""
    ranks = d.subject.astype(float)
    descent = 40 * ranks**power
    at = xr.where(d.method == "descent", descent, 90 * ranks**adam)
    return {
        "recalled": rise(d, at),
        "subject_times": law * 0.5 * descent / -np.log(0.01),
    }


CASES = {
    "relations, then subjects": Case("recall_stages", stages, "1 2 3 4 5 6", drawn=True),
    "all at once": Case("recall_stages", lambda d: stages(d, 0.3, 0.7, 0.8, (0.5, 0.9), 2.0), ""),
    "times of the law": Case("recall_times", times, "7 8 9 10 11", drawn=True),
    "other times": Case("recall_times", lambda d: times(d, 1.3, 1.2, (0.9, 0.8), 0.2), ""),
    "facts go as d squared": Case("recall_capacity", capacity, "12 13", drawn=True),
    "facts go as d": Case("recall_capacity", lambda d: capacity(d, 1.0), ""),
    "rare ones late, but not under Adam": Case("recall_zipf", zipf, "14 15 16", drawn=True),
    "as the root": Case("recall_zipf", lambda d: zipf(d, 0.5, 0.5, 2.0), ""),
}
