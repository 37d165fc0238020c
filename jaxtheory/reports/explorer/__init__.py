"""How can a sweep be looked at? One page without a network that shows any part of a dataset."""
