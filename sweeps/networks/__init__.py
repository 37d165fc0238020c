"""Ladders: from the model of a theorem to the Transformer that people train."""
