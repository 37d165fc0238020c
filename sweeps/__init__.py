"""The figures: `sweeps/<theory>/<figure>.py` holds one FIGURE; what those of a theory share stands
in its `__init__`. `seconds.json`: how long each takes, written by docs/seconds.py.
"""

# the figure of each theory that a reader of its paper would ask for first
HEADLINES = (
    "walk_circles",
    "pruning_ratio",
    "bigram_stage_one",
    "neighbor_rate",
    "groups_pretraining",
    "rank_singular_values",
)
