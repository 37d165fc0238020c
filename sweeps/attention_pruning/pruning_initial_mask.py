"""Does the initial mask, which the source does not give, matter?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import between, derived
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps
from ._errors import after, best, finish, half, of


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Calibration errors against lambda for each M_0."""
    ratios = dataset.pruning_ratio.values
    figure, axes = plot.panels(
        len(ratios),
        title="Error against λ for each initial mask",
    )
    for ax, rho in zip(axes[0], ratios, strict=True):
        errors = of(after(dataset.sel(pruning_ratio=rho)), "gradient")
        for color, start in enumerate(dataset.mask_init.values):
            plot.series(
                ax, errors.sel(mask_init=start), "regularization", f"$M_0$: {start}", color=color
            )
        finish(
            ax,
            "λ",
            f"ρ = {rho:g}",
            top=0.6,
            at=dataset.regularization,
            xscale="log",
            legend=rho == ratios[0],
        )
    return figure


FIGURE = Figure(
    name="pruning_initial_mask",
    source=f"{PAPER}, section 6.1 (the initial mask is not given)",
    theory=THEORY,
    config=P3,
    sweep=after_steps(1500, {"mask_init": ["ones", "half", "uniform"]} | AXES),
    quick=QUICK | {"vary": {"mask_init": ["ones"]} | AXES},
    draw=draw,
    claims=(
        Claim(
            "AP-34",
            origin=derived(),
            statement="The initial mask changes the error at the best lambda by at most 0.05 in either direction (rho = 1/2).",
            why="The source does not give it, and the theorem says nothing for a mask of ones.",
            measure=lambda d: (best(half(d)) - best(half(d)).sel(mask_init="ones")).drop_sel(
                mask_init="ones"
            ),
            bound=between(-0.05, 0.05),
        ),
    ),
)
