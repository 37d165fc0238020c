"""Does the gradient mask generalise, and how many calibration sequences does that take?"""

import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, PRUNER, QUICK, THEORY, legend, share, ticks
from ._errors import (
    HELDOUT,
    NAMES,
    PANELS,
    PLAIN,
    RESCALED,
    RESCALED_HELDOUT,
    RIVALS,
    half,
    lead,
    of,
    tuned,
)


def gap(dataset: xr.Dataset) -> xr.DataArray:
    """Held-out minus calibration error of the gradient mask at rho = 1/2."""
    return of(tuned(half(dataset), HELDOUT) - tuned(half(dataset), PLAIN), "gradient")


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors at rho = 1/2 on calibration and held-out sequences, as pruned and with the best factor
    on the logits.
    """
    figure, axes = plot.panels(
        2,
        2,
        title=f"Error against the number of calibration sequences ({dataset.sizes['seed']} seeds, "
        "rho = 1/2)",
    )
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        errors = tuned(half(dataset), name)
        for colour, (pruner, label) in enumerate(NAMES.items()):
            plot.series(ax, of(errors, pruner), "num_sequences", label, colour=colour)
        plot.finish(
            ax, "S (calibration sequences)", "relative error", title, legend=False, xscale="log"
        )
        ax.set_ylim(0, 1.3)
        ticks(ax, dataset.num_sequences)
    legend(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="pruning_calibration",
    source="beyond the source: calibration size against held-out error",
    theory=THEORY,
    config=P3.replace(length=64, step_scale=0.01),
    sweep={
        "vary": {"num_sequences": [1, 4, 16]} | AXES,
        "seeds": 8,
        "steps": 600,
        "record": [600],
        "dtype": "float32",
        "buckets": "pad",
    },
    quick=QUICK | {"vary": {"num_sequences": [1, 2]} | AXES, "seeds": 2},
    draw=draw,
    claims=(
        refuted(
            "AP-26",
            "derived",
            f"{PAPER}, section 6.1, if its gains are to hold on other data",
            "Calibrated on one sequence, the mask beats Wanda and SparseGPT on held-out sequences "
            "in most runs.",
            lambda d: lead(half(d), HELDOUT, *RIVALS).sel(num_sequences=1) < 0,
            **share(0.5),
        ),
        holds(
            "AP-27",
            "reading",
            f"{PAPER}, section 6.1",
            "On its calibration sequences it beats every baseline by at least .1, for 1, 4 and 16 "
            "sequences.",
            lambda d: lead(half(d), PLAIN),
            at_most=-0.1,
        ),
        holds(
            "AP-28",
            "derived",
            "derived",
            "The same with the best factor on the logits.",
            lambda d: lead(half(d), RESCALED),
            at_most=-0.05,
        ),
        holds(
            "AP-29",
            "derived",
            "derived",
            "The gap between held-out and calibration error falls by at least .3 from 1 sequence "
            "to 16.",
            lambda d: gap(d).isel(num_sequences=-1) - gap(d).isel(num_sequences=0),
            at_most=-0.3,
        ),
        holds(
            "AP-30",
            "derived",
            "derived",
            "With 16 sequences magnitude pruning of W is still better on held-out ones, by at "
            "least .1.",
            lambda d: lead(half(d), HELDOUT, "magnitude").isel(num_sequences=-1),
            at_least=0.1,
        ),
        holds(
            "AP-31",
            "derived",
            "derived",
            "One factor on the logits, chosen on calibration data, lowers every method's held-out "
            "error by at least .05.",
            lambda d: (tuned(half(d), HELDOUT) - tuned(half(d), RESCALED_HELDOUT)).sel(
                {PRUNER: list(NAMES)}
            ),
            at_least=0.05,
        ),
    ),
)
