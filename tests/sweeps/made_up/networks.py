"""Made-up results of the ladders."""

import numpy as np
import xarray as xr

from . import Case

THEOREM = "theorem's model"
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


def cells(**values):
    """A dataset of networks by cell; each value is a number, or a function of the cell."""

    def make(options):
        coords = {"cell": list(options["cells"]), "seed": range(options["seeds"])}
        spread = np.linspace(-0.01, 0.01, options["seeds"])

        def array(value):
            number = value if callable(value) else lambda cell: value
            return (("cell", "seed"), np.array([number(cell) + spread for cell in coords["cell"]]))

        return xr.Dataset({name: array(value) for name, value in values.items()}, coords)

    return make


CASES = {
    "networks: walks that are learned by their tokens": Case(
        "network_walk",
        cells(closed=0.95, used=1.2, others=0.01, parent_attention=0.9, rate=0.01),
        "74 75 76",
        drawn=True,
    ),
    "networks: walks that are learned otherwise": Case(
        "network_walk",
        cells(
            closed=lambda cell: 0.95 if cell == "AdamW, block, 2 × 4" else 0.3,
            used=0.2,
            others=0.8,
            parent_attention=0.4,
            rate=0.01,
        ),
        "",
    ),
    "networks: groups that are learned by their tokens": Case(
        "network_groups",
        cells(closed=0.95, used=1.2, others=0.01, group_attention=0.9, rate=0.01),
        "77 78 79",
        drawn=True,
    ),
    "networks: groups that are learned otherwise": Case(
        "network_groups",
        cells(
            closed=lambda cell: 0.95 if cell == "AdamW, block, 2 × 4" else 0.3,
            used=0.2,
            others=0.8,
            group_attention=0.4,
            rate=0.01,
        ),
        "",
    ),
    "networks: neighbors that are learned by their tokens": Case(
        "network_neighbor",
        cells(closed=0.95, used=1.2, others=0.01, nearest_attention=0.9, rate=0.01),
        "80 81 82",
        drawn=True,
    ),
    "networks: neighbors that are learned otherwise": Case(
        "network_neighbor",
        cells(
            closed=lambda cell: 0.95 if cell == "AdamW, block, 2 × 4" else 0.3,
            used=0.2,
            others=0.8,
            nearest_attention=0.4,
            rate=0.01,
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
