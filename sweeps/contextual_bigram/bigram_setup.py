"""How far do 1000 steps lead in the source's set-up, as far as it can be read?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, interpretation, last
from jaxtheory.theories.contextual_bigram import PAPER as SETUP

from . import BOTH, PAPER, PROX, QUICK, SGD, STAGES, THEORY, end, ends, failed, right_sign
from ._curves import CURVES, at, draw_one, draw_runs


def draw(data: xr.Dataset) -> plot.Drawing:
    """Distance, cosine and excess loss in t, the runs of the right sign; alpha_A per run with the
    noiseless curve.
    """
    shown = data.where(right_sign(data))
    law = float(data.predicted_right_sign_sign_law.isel(step=0, run=0).mean())
    share = float(last(data.right_sign).sel(run=SGD).mean())
    runs = (
        f"right sign in {share:.2f} of {data.sizes['seed']} runs (mean Φ(z) = {law:.2f}), only "
        "these shown"
    )
    figure, axes = plot.panels(4, title=f"The source's set-up{at(FIGURE, data)}: {runs}", width=3.2)
    draw_runs(axes[0, :3], shown, CURVES, log=False)
    for ax, name in zip(axes[0, :3], CURVES, strict=False):
        ax.set_ylim(0, 1.05 * float(shown[name].max()))
    for color, run in enumerate(data.run.values):
        plot.series(
            axes[0, 3],
            shown.attention_alignment.sel(run=run),
            "step",
            str(run),
            color=color,
            seeds=True,
            markers=False,
        )
    plot.theory(
        axes[0, 3],
        data.step.values,
        data.predicted_attention_alignment_population.isel(run=0).mean("seed"),
        "no noise",
    )
    draw_one(axes[0, 3])
    plot.finish(axes[0, 3], "step t", r"$\alpha_A$ (1 at the task)", legend=False)
    plot.legend_below(figure, axes[0, 3])
    return figure


FIGURE = Figure(
    name="bigram_setup",
    source=f"{PAPER}, set-up of the experiments, a plausible interpretation",
    theory=THEORY,
    config=SETUP,
    sweep={"zip": BOTH, **STAGES, "seeds": 20},  # 8 of the right sign are needed
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "CB-17",
            origin=interpretation(PAPER, "figure 1"),
            statement="Figure 1, its lost numbers read as N = 3, T = 5000, B = 64: after 1000 steps |A - Q| is at most half of its initial value, for the better of the two methods on average.",
            measure=lambda d: (
                ends(d, "attention_distance", right_sign) / d.attention_distance.isel(step=0)
            ).min("run"),  # measured 0.8
            bound=at_most(0.5),
            expect=None,
        ),
        Claim(
            "CB-18",
            origin=interpretation(PAPER, "figure 1"),
            statement="Figure 1, its lost numbers read as N = 3, T = 5000, B = 64: after 1000 steps at most half of the excess loss is left, for the better of the two methods on average.",
            measure=lambda d: ends(d, "relative_excess_loss", right_sign).min(
                "run"
            ),  # measured 0.9
            bound=at_most(0.5),
            expect=None,
        ),
        Claim(
            "CB-19",
            origin=interpretation(PAPER, "figure 1"),
            statement="Figure 1, its lost numbers read as N = 3, T = 5000, B = 64: after 1000 steps the cosine of A and Q of proximal runs is at least 0.95 on average.",
            measure=end("attention_cosine", PROX, right_sign),  # measured 0.92
            bound=at_least(0.95),
            expect=None,
        ),
        Claim(
            "CB-20",
            origin=interpretation(PAPER, "figure 1, after normalization"),
            statement="Figure 1, with its lost numbers read as for the other claims: rounding a proximal run of the right sign recovers the support of at least 75 % of the columns.",
            measure=end("support_recovery", PROX, right_sign),
            bound=at_least(0.75),
        ),
        Claim(
            "CB-21",
            origin=interpretation(PAPER, "section 5.1"),
            statement="“SGD struggles to converge with the same small batch size”, read as: after rounding, the support of some column is wrong in at least half of the runs.",
            measure=failed(SGD, right_sign),  # measured 0.25
            bound=at_least(0.5),
            statistic="share",
            expect=None,
        ),
        Claim(
            "CB-22",
            origin=interpretation(PAPER, "lemma D.1, with high probability"),
            statement="“the second term on the RHS of (9) could provide a small positive signal”, read as: at these numbers every run takes the right sign.",
            measure=lambda d: last(d.right_sign).sel(run=SGD),  # Phi(z) is 0.68 to 0.84
            bound=at_least(1.0),
            expect=None,
        ),
    ),
)
