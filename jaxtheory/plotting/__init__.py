"""How is it drawn? Curves, phase diagrams, overviews and their captions."""
