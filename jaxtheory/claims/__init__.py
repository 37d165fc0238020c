"""Do the statements hold? Claims, the figures that decide them, and their verdicts."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtheory.claims.claim import Claim as Claim
    from jaxtheory.claims.claim import Figure as Figure
    from jaxtheory.claims.claim import FigureResult as FigureResult
    from jaxtheory.claims.claim import Judged as Judged
    from jaxtheory.claims.claim import arguments as arguments
    from jaxtheory.claims.claim import holds as holds
    from jaxtheory.claims.claim import judge as judge
    from jaxtheory.claims.claim import refuted as refuted
    from jaxtheory.claims.claim import run_figure as run_figure
    from jaxtheory.claims.claim import undecided as undecided

__all__ = [
    *("Claim", "Figure", "FigureResult", "Judged"),
    *("arguments", "holds", "judge", "refuted", "run_figure", "undecided"),
]


def __getattr__(name: str) -> Any:  # lazily: `jaxtheory list` reads figures without JAX
    if name in __all__:
        return getattr(importlib.import_module("jaxtheory.claims.claim"), name)
    raise AttributeError(f"module 'jaxtheory.claims' has no attribute {name!r}")
