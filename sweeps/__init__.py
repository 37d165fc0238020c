"""The figures of the six theories: `sweeps/<theory>/<figure>.py` holds one FIGURE; what a theory's figures share stands in its `__init__`."""
