"""The figures and their shared parts.

Each file `sweeps/<theory>/<figure>.py` has one FIGURE, and the `__init__` of a theory has their
shared parts. docs/seconds.py writes how long each figure takes to `seconds.json`.
"""

# the figure of each theory that a reader of its paper would ask for first
HEADLINES = (
    "walk_circles",
    "pruning_ratio",
    "bigram_stage_one",
    "neighbor_rate",
    "groups_pretraining",
    "rank_singular_values",
    "regression_staircase",
    "graph_parents",
    "diversity_double_descent",
    "recall_stages",
    "semantic_transition",
)
