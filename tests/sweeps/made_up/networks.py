"""Made-up results of the ladders."""

import numpy as np
import xarray as xr

from . import Case

NAMES = [
    "theorem's model",
    *(
        f"{optimizer}, {block}, {size}"
        for optimizer in ("SGD", "AdamW")
        for block in ("attention", "block")
        for size in ("1 × 1", "2 × 4")
    ),
]


def cells(**values):
    """A dataset of networks by cell; each value is a number, or a function of the cell."""

    def make(options):
        coords = {"cell": options["only"] or NAMES, "seed": range(options["seeds"])}
        spread = np.linspace(-0.01, 0.01, options["seeds"])

        def array(value):
            number = value if callable(value) else lambda cell: value
            return (("cell", "seed"), np.array([number(cell) + spread for cell in coords["cell"]]))

        return xr.Dataset({name: array(value) for name, value in values.items()}, coords)

    return make


def of_last(cell):
    """Only the last network has learned."""
    return 0.95 if cell == "AdamW, block, 2 × 4" else 0.3


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
            closed=of_last,
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
            closed=of_last,
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
            closed=of_last,
            used=0.2,
            others=0.8,
            nearest_attention=0.4,
            rate=0.01,
        ),
        "",
    ),
    "networks: bigrams that are learned by their tokens": Case(
        "network_bigram",
        cells(closed=0.95, used=1.2, others=0.01, attended_attention=0.9, rate=0.01),
        "83 84 85",
        drawn=True,
    ),
    "networks: bigrams that are learned otherwise": Case(
        "network_bigram",
        cells(closed=of_last, used=0.2, others=0.8, attended_attention=0.4, rate=0.01),
        "",
    ),
    "networks: chains that are learned by the parents": Case(
        "network_graph",
        cells(
            closed=0.95, used=1.2, others=2, parent_attention=0.9, children_attention=0.8, rate=0.01
        ),
        "86 87",
        drawn=True,
    ),
    "networks: chains that are learned otherwise": Case(
        "network_graph",
        cells(
            closed=of_last,
            used=0.2,
            others=2,
            parent_attention=0.1,
            children_attention=0.2,
            rate=0.01,
        ),
        "",
    ),
    "networks: regression that is learned as least squares": Case(
        "network_regression",
        cells(
            closed=0.95,
            used=1.2,
            others=0.01,
            layer_distance=0.2,
            least_squares_distance=0.05,
            layer_error=0.07,
            rate=0.01,
        ),
        "88 89 90",
        drawn=True,
    ),
    "networks: regression that is learned as the layer": Case(
        "network_regression",
        cells(
            closed=of_last,
            used=0.2,
            others=0.01,
            layer_distance=0.05,
            least_squares_distance=0.2,
            layer_error=0.07,
            rate=0.01,
        ),
        "",
    ),
    "networks: tasks that are learned for all": Case(
        "network_diversity",
        cells(
            closed=0.95, used=1, others=0.1, loss=0.06, own_loss=0.05, layer_loss=0.15, rate=0.01
        ),
        "91 92 99",
        drawn=True,
    ),
    "networks: tasks that are remembered": Case(
        "network_diversity",
        cells(
            closed=lambda cell: 0.95 if cell == "SGD, block, 2 × 4" else 0.3,
            used=1,
            others=0.1,
            loss=0.14,
            own_loss=0.02,
            layer_loss=0.15,
            rate=0.01,
        ),
        "",
    ),
    "networks: facts that are learned by their tokens": Case(
        "network_recall",
        cells(
            closed=0.95,
            used=1.2,
            others=0.01,
            accuracy=0.9,
            relation_mass=0.9,
            subject_attention=0.6,
            relation_attention=0.6,
            rate=0.01,
        ),
        "103 104 105",
        drawn=True,
    ),
    "networks: facts that are learned otherwise": Case(
        "network_recall",
        cells(
            closed=of_last,
            used=0.2,
            others=0.8,
            accuracy=0.9,
            relation_mass=0.9,
            subject_attention=0.2,
            relation_attention=0.2,
            rate=0.01,
        ),
        "",
    ),
    "networks: patterns that are learned by their tokens": Case(
        "network_patterns",
        cells(closed=0.95, used=0.6, others=0.01, relevant_attention=0.6, rank=0, rate=0.01),
        "93 94 95 96",
        drawn=True,
    ),
    "networks: patterns that are learned otherwise": Case(
        "network_patterns",
        cells(closed=of_last, used=0.1, others=0.8, relevant_attention=0.4, rank=3, rate=0.01),
        "",
    ),
    "networks: pruning as measured": Case(
        "network_pruning",
        cells(
            closed=0.95,
            used=0.9,
            others=0.1,
            attention_overlap=0.9,
            lead_20=0.08,
            lead_50=-0.1,
            lead_80=-0.2,
            magnitude_50=-0.05,
            rate=0.01,
        ),
        "97 98 100 101 102",
        drawn=True,
    ),
    "networks: pruning that the mask makes worse": Case(
        "network_pruning",
        cells(
            closed=of_last,
            used=0.2,
            others=0.1,
            attention_overlap=0.9,
            lead_20=-0.1,
            lead_50=0.1,
            lead_80=0.1,
            magnitude_50=0.2,
            rate=0.01,
        ),
        "",
    ),
}
