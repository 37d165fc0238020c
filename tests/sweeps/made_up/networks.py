"""Made-up results of the ladders."""

import numpy as np
import xarray as xr

from . import Case

THEOREM = "theorem's model"
P, STAR, DELTA = "clockwise_probability", "relevant_group", "separation"
SIGMA, ALPHA = "noise", "concentration"
SAMPLES, RHO = "downstream_samples", "pruning_ratio"


def ladder(axis, **values):
    """A dataset of the ladder with this axis; each value is a number, or a function of the rung and
    the value of the axis.
    """

    def make(options):
        coords = {"rung": list(options["rungs"]), axis: list(options[axis])}
        coords["seed"] = range(options["seeds"])
        spread = np.linspace(-0.01, 0.01, options["seeds"])

        def array(value):
            number = value if callable(value) else lambda rung, x: value
            table = [[number(rung, x) + spread for x in coords[axis]] for rung in coords["rung"]]
            return (tuple(coords), np.array(table))

        return xr.Dataset({name: array(value) for name, value in values.items()}, coords)

    return make


def by_rung(theorem, default, **named):
    """A number for the theorem's model, for some rungs by name, and for the others."""
    return lambda rung, x: theorem if rung == THEOREM else named.get(rung, default)


CASES = {
    "networks: walks as measured": Case(
        "network_walk",
        ladder(
            P,
            accuracy=lambda rung, x: 1 / 6 if rung == THEOREM and x == 1 else max(x, 1 - x),
            parent_attention=lambda rung, x: 0.05 if x == 1 else 0.98,
            parent_selected=lambda rung, x: float(x < 1),
        ),
        "1 2 3 4 5",
        drawn=True,
    ),
    "networks: walks the other way around": Case(
        "network_walk",
        ladder(
            P,
            accuracy=lambda rung, x: 1.0 if rung == THEOREM else 0.5,
            parent_attention=lambda rung, x: 0.3 if rung == THEOREM else 0.9,
            parent_selected=lambda rung, x: float(x == 1),
        ),
        "",
    ),
    "networks: groups as measured": Case(
        "network_groups",
        ladder(
            STAR,
            accuracy=0.97,
            group_attention=by_rung(0.88, 0.96, **{"+ depth 2": 0.5}),
            downstream_attention=by_rung(np.nan, 0.96, **{"+ depth 2": 0.5}),
        ),
        "11 12 13 14",
        drawn=True,
    ),
    "networks: groups that only two layers select": Case(
        "network_groups",
        ladder(
            STAR,
            accuracy=0.7,
            group_attention=by_rung(0.3, 0.4, **{"+ depth 2": 0.97}),
            downstream_attention=by_rung(np.nan, 0.4),
        ),
        "",
    ),
    "networks: neighbors as measured": Case(
        "network_neighbor",
        ladder(
            DELTA,
            accuracy=by_rung(0.93, 0.93),
            nearest_attention=by_rung(0.82, 0.85, **{"+ depth 2": 0.6}),
            shift_error=lambda rung, x: 0.06 if x < 0.3 else 0.02,
        ),
        "21 22 23 24 25",
        drawn=True,
    ),
    "networks: neighbors that are not found": Case(
        "network_neighbor",
        ladder(
            DELTA,
            accuracy=0.6,
            nearest_attention=by_rung(0.3, 0.3, **{"+ depth 2": 0.95}),
            shift_error=0.8,
        ),
        "",
    ),
    "networks: patterns as measured": Case(
        "network_patterns",
        ladder(
            SIGMA,
            accuracy=0.98,
            relevant_attention=0.55,
            third_value=by_rung(0.05, 0.45),
            small_changes=by_rung(0.38, 0.01),
        ),
        "31 32 33 34 35 36",
        drawn=True,
    ),
    "networks: patterns that attention finds": Case(
        "network_patterns",
        ladder(
            SIGMA,
            accuracy=0.8,
            relevant_attention=0.95,
            third_value=by_rung(0.6, 0.05),
            small_changes=by_rung(0.0, 0.4),
        ),
        "",
    ),
    "networks: bigrams as measured": Case(
        "network_bigram",
        ladder(
            ALPHA,
            accuracy=0.6,
            attended_attention=by_rung(0.3, 0.3, **{"+ learned positions": 0.93}),
            support_match=by_rung(0.98, 0.75),
            stage_one=by_rung(0.7, 0.7, **{"+ MLP": np.nan}),  # a loss that hardly falls
            attention_at_unigram=by_rung(np.nan, 0.05, **{"+ MLP": np.nan}),
        ),
        "41 42 43 44 45 46 47",
        drawn=True,
    ),
    "networks: bigrams of no use to a model": Case(
        "network_bigram",
        ladder(
            ALPHA,
            accuracy=0.6,
            attended_attention=by_rung(0.9, 0.9, **{"+ learned positions": 0.1}),
            support_match=by_rung(0.3, 0.2),
            stage_one=0.15,
            attention_at_unigram=0.6,
        ),
        "",
    ),
    "networks: a downstream task that trained weights help": Case(
        "network_downstream",
        ladder(SAMPLES, from_trained=0.75, from_scratch=0.55),
        "51 52",
        drawn=True,
    ),
    "networks: trained weights in the way": Case(
        "network_downstream", ladder(SAMPLES, from_trained=0.5, from_scratch=0.7), ""
    ),
    "networks: pruning as measured": Case(
        "network_pruning",
        ladder(
            RHO,
            attention_overlap=0.9,
            gradient=lambda rung, x: 0.15 if x < 0.3 else 0.5 * x,
            wanda=lambda rung, x: 0.09 if x < 0.3 else 0.7 * x,
            sparsegpt=lambda rung, x: 0.05 if x < 0.3 else 0.65 * x,
            magnitude=lambda rung, x: 0.5 * x,
        ),
        "61 62 63",
        drawn=True,
    ),
    "networks: pruning that the mask makes worse": Case(
        "network_pruning",
        ladder(
            RHO,
            attention_overlap=0.9,
            gradient=lambda rung, x: 0.04 if x < 0.3 else 0.9,
            wanda=lambda rung, x: 0.5,
            sparsegpt=lambda rung, x: 0.5,
            magnitude=lambda rung, x: 0.3,
        ),
        "",
    ),
}
