"""The figures: `sweeps/<theory>/<figure>.py` holds one FIGURE; what those of a theory share stands
in its `__init__`.
"""
