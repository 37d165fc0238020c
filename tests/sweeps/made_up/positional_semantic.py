"""Made-up results of positional_semantic: the laws themselves, times factors."""

import xarray as xr

from sweeps.positional_semantic import law

from . import Case

BASELINE = 0.003943


def ends(d, factors=(1.0, 1.0), norm=None, lean=0.0):
    """Both ends on the laws, of one norm rho if it is given, energies and errors times factors.

    `lean` is added to the smaller and taken from the larger of both overlaps.
    """
    semantic = d.start == "semantic"
    factor = xr.where(semantic, factors[1], factors[0])
    at = lambda rho: law(float(norm or rho)).sel(alpha=d.alpha, start=d.start)
    rhos = d.get("position_norm", xr.DataArray(2.0))
    energy = xr.concat([at(rho).energy for rho in rhos.values.flat], "position_norm")
    own = lambda one, start: xr.where(semantic == (start == "semantic"), one - lean, 0.03 + lean)
    return {
        "energy": factor * (energy.assign_coords(position_norm=rhos) if rhos.ndim else energy[0]),
        "test_error": factor * at(2.0).test_error,
        "semantic": own(at(2.0).semantic, "semantic"),
        "positional": own(at(2.0).positional, "positional"),
        "predicted_test_error_baseline": BASELINE,
    }


def starts(d, large=True):
    """Ends that are semantic from large starts, or from all others."""
    semantic = (d.init_scale > 2) == large
    laws = law().sel(alpha=d.alpha)
    energy = [laws.energy.sel(start=start, drop=True) for start in ("semantic", "positional")]
    return {
        "semantic": xr.where(semantic, 0.97, 0.1),
        "positional": xr.where(semantic, 0.01, 0.6),
        "energy": xr.where(semantic, *energy),
    }


CASES = {
    "the laws": Case("semantic_transition", ends, "1 2 3 4 5 6 7", drawn=True),
    "other errors": Case("semantic_transition", lambda d: ends(d, (1.5, 2.0), lean=0.4), ""),
    "energies of the laws": Case("semantic_energy", ends, "8 9 10 11", drawn=True),
    "other energies": Case("semantic_energy", lambda d: ends(d, (1.6, 1.6), 1.5), ""),
    "large starts find it": Case("semantic_start", starts, "12 13 14", drawn=True),
    "small starts find it": Case("semantic_start", lambda d: starts(d, large=False), ""),
}
