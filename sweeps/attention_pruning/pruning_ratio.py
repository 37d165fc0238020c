"""How does the error of the pruned attention depend on the share of pruned weights?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, interpretation
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import NAMES, PLAIN, RESCALED, RIVALS, after, finish, lines, rival_gap, select

SOURCE = f"{PAPER}, figure 2(c)"


def by_ratio(dataset: xr.Dataset) -> xr.DataArray:
    """Calibration errors after training, averaged over lambda.

    All three values of lambda are stable and near the best.
    """
    return after(dataset).mean("regularization")


def lead(dataset: xr.Dataset) -> xr.DataArray:
    """Error of the gradient mask minus the least of Wanda's and SparseGPT's."""
    return select(by_ratio(dataset), "gradient") - select(by_ratio(dataset), *RIVALS)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors as pruned, and with the best factor on the logits."""
    strengths = ", ".join(f"{v:g}" for v in dataset.regularization.values)
    figure, axes = plot.panels(2)
    plot.remark(figure, f"Errors are means over λ in {{{strengths}}}.")
    titles = {PLAIN: "as pruned", RESCALED: "logits rescaled by the best factor"}
    for ax, (name, title) in zip(axes[0], titles.items(), strict=True):
        lines(ax, after(dataset, name).mean("regularization"), "pruning_ratio", NAMES)
        finish(ax, "share of weights set to zero, ρ", title, top=1.4)
    return with_legend(figure, axes[0, 0])


FIGURE = Figure(
    name="pruning_ratio",
    source=SOURCE,
    finding=Finding(
        "The gradient mask beats Wanda and SparseGPT at ρ = 0.2 to 0.9 on calibration data, but not down to ρ = 0.05",
        rests_on=("AP-51", "AP-16"),
    ),
    theory=THEORY,
    config=P3,
    sweep=after_steps(1500, AXES | {"rho": [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9]})
    | {"seeds": 32},
    quick=QUICK | {"vary": AXES | {"rho": [0.05, 0.5, 0.9]}},
    draw=draw,
    claims=(
        Claim(
            "AP-16",
            origin=interpretation(PAPER, "figure 2(c)"),
            statement="“our algorithm consistently outperforms both Wanda and SparseGPT across the range”, where the range is lost and read as rho = 0.05 to 0.9.",
            why="A user who prunes few weights would choose the method on this sentence.",
            measure=Measure(
                "mask's error minus better of Wanda and SparseGPT, each ρ 0.05 to 0.9", lead
            ),
            bound=at_most(0.0),
            expect="fails",
        ),
        Claim(
            "AP-51",
            origin=derived(),
            statement="From rho = 0.2 to 0.9 the gradient mask outperforms both Wanda and SparseGPT on its calibration data.",
            why="It gives the range in which the advantage of the source is real.",
            measure=Measure(
                "mask's error minus better of Wanda and SparseGPT, each ρ 0.2 to 0.9",
                lambda d: lead(d).sel(pruning_ratio=slice(0.15, None)),
            ),
            bound=at_most(0.0),
        ),
        Claim(
            "AP-20",
            origin=interpretation(PAPER, "figure 2(c)"),
            statement="“As the pruning ratio increases, all methods exhibit a rise in relative error”, read as: the error of the gradient mask, of Wanda and of SparseGPT rises from rho = 0.05 to 0.2, to 0.5 and to 0.8.",
            why="An error that falls with more pruning shows that the mask was not made for small ratios.",
            measure=Measure(
                "rise of the error of each method, ρ 0.05 to 0.2, to 0.5 and to 0.8",
                lambda d: (
                    by_ratio(d)
                    .sel({"pruner": ["gradient", *RIVALS], "pruning_ratio": [0.05, 0.2, 0.5, 0.8]})
                    .diff("pruning_ratio")
                ),
            ),
            bound=at_least(0.0),
            expect="fails",
        ),
        Claim(
            "AP-18",
            origin=derived(),
            statement="The error of the gradient mask is flat in the middle: from rho = 0.2 to 0.7 it rises by at most 0.05.",
            why="The mask is fitted once and without rho, so that one fit serves many ratios.",
            measure=Measure(
                "rise of the mask's error from ρ = 0.2 to 0.7",
                lambda d: (
                    select(by_ratio(d), "gradient")
                    .sel(pruning_ratio=[0.2, 0.7])
                    .diff("pruning_ratio")
                ),
            ),
            bound=at_most(0.05),
        ),
        Claim(
            "AP-52",
            origin=interpretation(PAPER, "figure 2(c)"),
            statement="“SparseGPT and Wanda follow a similar trend, closely tracking each other”, read as: at every rho from 0.05 to 0.9 their errors differ by at most a tenth of the larger one.",
            why="If it held, the cheaper of the two baselines would do in every comparison.",
            measure=Measure(
                "Wanda's error minus SparseGPT's, relative to the larger, each ρ",
                lambda d: rival_gap(by_ratio(d)),
            ),
            bound=between(-0.1, 0.1),
            expect="fails",
        ),
    ),
)
