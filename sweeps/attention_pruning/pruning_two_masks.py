"""Is one mask on W better than one on each factor, at an equal share or number of weights kept?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, derived
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import NAMES, PLAIN, after, best, finish, select, tuned

LABELS = {"gradient_descent": "mask on W", "two_mask": "masks on $W_Q$ and $W_K$, equation (1)"}


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors against lambda (middle rho), against rho, and against the number of weights kept."""
    figure, axes = plot.panels(3)
    by_lambda, by_ratio, by_count = axes[0]
    middle = float(dataset.pruning_ratio[dataset.sizes["pruning_ratio"] // 2])

    def lines(errors: xr.DataArray, factors: int, label: str, color: int) -> None:
        """Errors by share, and by the number of weights that some factors keep."""
        plot.series(by_ratio, errors, "pruning_ratio", label, color=color)
        error_curve = errors.assign_coords(pruning_ratio=factors * (1 - errors.pruning_ratio))
        plot.series(by_count, error_curve, "pruning_ratio", label, color=color)

    for color, (algorithm, label) in enumerate(LABELS.items()):
        chosen = dataset.sel(algorithm=algorithm)
        errors = select(after(chosen), "gradient").sel(pruning_ratio=middle)
        plot.series(by_lambda, errors, "regularization", label, color=color)
        lines(best(chosen), 1 + (algorithm == "two_mask"), label, color)
    for color, pruner in ((2, "sparsegpt"), (3, "magnitude")):
        lines(
            select(tuned(dataset.isel(algorithm=0), PLAIN), pruner),
            1 + (pruner == "sparsegpt"),
            NAMES[pruner],
            color,
        )
    finish(by_lambda, "λ", f"ρ = {middle:g}", xscale="log")
    finish(by_ratio, "share pruned, ρ", "best λ, equal ρ")
    finish(by_count, "weights kept / $d^2$", "best λ, by weights kept")
    return with_legend(figure, by_ratio)


FIGURE = Figure(
    name="pruning_two_masks",
    source=f"{PAPER}, equation (1), on synthetic data",
    finding=Finding(
        "At equal pruning ratio one mask on W has at least 0.05 less calibration error than masks on both W_Q and W_K",
        rests_on=("AP-33",),
    ),
    theory=THEORY,
    config=P3,
    sweep=after_steps(
        1500,
        {
            "algorithm": list(LABELS),
            "lambda": [0.3, 1.0, 3.0, 10.0, 30.0],
            "rho": [0.3, 0.5, 0.65, 0.75, 0.8, 0.9],
        },
    )
    | {"seeds": 16},
    quick=QUICK | {"vary": {"algorithm": list(LABELS)} | AXES | {"lambda": [1.0, 3.0, 10.0]}},
    draw=draw,
    claims=(
        Claim(
            "AP-33",
            origin=derived(),
            statement="At equal rho, one mask on W has a smaller calibration error than masks on both W_Q and W_K, by at least 0.05, although it keeps half as many weights.",
            why="Equation (1), which real models need, gives up part of the gain.",
            measure=Measure(
                "error of two masks minus that of one mask on W, best λ, each ρ",
                lambda d: (
                    best(d).sel(algorithm="two_mask") - best(d).sel(algorithm="gradient_descent")
                ),
            ),
            bound=at_least(0.05),
        ),
    ),
)
