"""How far do 1000 steps lead in the source's set-up, as far as it can be read?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation, last
from jaxtheory.theories.contextual_bigram import PAPER as SETUP

from . import BOTH, PAPER, QUICK, SGD, STAGES, THEORY, right_sign
from ._curves import CURVES, at, draw_runs


def draw(data: xr.Dataset) -> plot.Drawing:
    """Distance, cosine, excess loss and alpha_A in t, of the runs of the right sign.

    alpha_A is shown with the noiseless curve.
    """
    shown = data.where(right_sign(data))
    law = float(data.predicted_right_sign_sign_law.isel(step=0, run=0).mean())
    share = float(last(data.right_sign).sel(run=SGD).mean())
    runs = (
        f"right sign in {share:.2f} of {data.sizes['seed']} runs (mean Φ(z) = {law:.2f}), only "
        "these shown"
    )
    figure, axes = plot.panels(4, title=f"The source's set-up{at(FIGURE, data)}: {runs}", width=3.2)
    names = [*CURVES][:3]
    draw_runs(axes[0], shown, [*names, "attention_alignment"], log=False)
    for ax, name in zip(axes[0, :3], names, strict=True):
        ax.set_ylim(0, 1.1 * float(shown[name].mean("seed").max()))
    noiseless = data.predicted_attention_alignment_population.isel(run=0).mean("seed")
    plot.theory(axes[0, 3], data.step.values, noiseless, "no noise")
    plot.legend_below(figure, axes[0, 3])
    return figure


FIGURE = Figure(
    name="bigram_setup",
    source=f"{PAPER}, set-up of the experiments, a plausible interpretation",
    finding=Finding(
        "At T = 5000 and B = 64 the cosine of attention and its target is at most 0.8 in every SGD run of 1000 steps",
        rests_on=("CB-21",),
    ),
    theory=THEORY,
    config=SETUP,
    sweep={"zip": BOTH, **STAGES},
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "CB-17",
            origin=derived("derived, beside figure 1, whose numbers are lost"),
            statement="With the lost numbers read as N = 3, T = 5000, B = 64, figure 1 is not what 1000 steps give: even the better of the two methods leaves at least 0.7 of |A - Q|.",
            measure=Measure(
                "|A − Q| after 1000 steps over that at the start, better of both runs",
                lambda d: (last(d.attention_distance) / d.attention_distance.isel(step=0)).min(
                    "run"
                ),
            ),
            bound=at_least(0.7),
            why="Whoever repeats figure 1 from the numbers that can be read will not get its curves.",
        ),
        Claim(
            "CB-21",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“SGD struggles to converge with the same small batch size and large learning rate”, read as: after 1000 steps at T = 5000 and B = 64, the cosine of A and Q is at most 0.8 in each run of SGD.",
            measure=Measure(
                "cosine of A and Q after 1000 steps of SGD, T = 5000, B = 64",
                lambda d: last(d.attention_cosine).sel(run=SGD),
            ),
            bound=at_most(0.8),
            q=1,
            panel=1,
            why="It is the source's evidence against plain SGD, and concerns the weights as trained, not as rounded.",
        ),
    ),
)
