"""Claims about theories, the figures that decide them, and their verdicts."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtheory.claims.bound import Bound as Bound
    from jaxtheory.claims.bound import at_least as at_least
    from jaxtheory.claims.bound import at_most as at_most
    from jaxtheory.claims.bound import between as between
    from jaxtheory.claims.claim import Claim as Claim
    from jaxtheory.claims.figure import Figure as Figure
    from jaxtheory.claims.figure import arguments as arguments
    from jaxtheory.claims.finding import Finding as Finding
    from jaxtheory.claims.fits.power_law import FittedLaw as FittedLaw
    from jaxtheory.claims.fits.power_law import fitted_law as fitted_law
    from jaxtheory.claims.judged import Judged as Judged
    from jaxtheory.claims.judged import judge as judge
    from jaxtheory.claims.measures import Measure as Measure
    from jaxtheory.claims.measures import crossing as crossing
    from jaxtheory.claims.measures import exponent as exponent
    from jaxtheory.claims.measures import last as last
    from jaxtheory.claims.measures import share as share
    from jaxtheory.claims.origin import Origin as Origin
    from jaxtheory.claims.origin import derived as derived
    from jaxtheory.claims.origin import interpretation as interpretation
    from jaxtheory.claims.origin import printed as printed
    from jaxtheory.claims.result import FigureResult as FigureResult
    from jaxtheory.claims.result import run_figure as run_figure

_HOMES = {  # name -> module, loaded at first use: `jaxtheory list` reads figures without JAX
    **dict.fromkeys(("Bound", "at_least", "at_most", "between"), "bound"),
    "Claim": "claim",
    **dict.fromkeys(("Figure", "arguments"), "figure"),
    "Finding": "finding",
    **dict.fromkeys(("Judged", "judge"), "judged"),
    **dict.fromkeys(("Measure", "crossing", "exponent", "last", "share"), "measures"),
    **dict.fromkeys(("Origin", "derived", "interpretation", "printed"), "origin"),
    **dict.fromkeys(("FittedLaw", "fitted_law"), "fits.power_law"),
    **dict.fromkeys(("FigureResult", "run_figure"), "result"),
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"jaxtheory.claims.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'jaxtheory.claims' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
