"""Which power law do values follow, and how sure is it? Fits, collapses and their intervals."""
