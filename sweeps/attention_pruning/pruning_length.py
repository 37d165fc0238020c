"""How does the error of the pruned attention grow with the sequence length?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, interpretation
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import RIVALS, after, finish, half, lines, rival_gap, select

SOURCE = f"{PAPER}, figure 2(b)"


METHODS = ("gradient", *RIVALS)


def errors(dataset: xr.Dataset) -> xr.DataArray:
    """Calibration errors at rho = 1/2, averaged over lambda (both are stable)."""
    return after(half(dataset)).mean("regularization")


def growth(dataset: xr.Dataset) -> xr.DataArray:
    """Rise of the error of each method from the shortest to the longest sequences."""
    error = errors(dataset).sel(pruner=list(METHODS))
    return error.isel(length=-1) - error.isel(length=0)


def share_of_best(dataset: xr.Dataset) -> xr.DataArray:
    """The gradient mask's error over the better of Wanda's and SparseGPT's."""
    return select(errors(dataset), "gradient") / select(errors(dataset), *RIVALS)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """A panel per pruning ratio."""
    strengths = ", ".join(f"{v:g}" for v in dataset.regularization.values)
    figure, axes = plot.panels(
        dataset.sizes["pruning_ratio"],
    )
    for ax, rho in zip(axes[0], dataset.pruning_ratio.values, strict=True):
        shown = after(dataset.sel(pruning_ratio=rho))
        for j in range(shown.sizes["regularization"]):
            label = "" if j else f"gradient mask, λ in {{{strengths}}}"
            plot.series(ax, select(shown, "gradient").isel(regularization=j), "length", label)
        lines(ax, shown.isel(regularization=0), "length")
        finish(ax, "length L in tokens", f"ρ = {rho:g}", at=dataset.length, xscale="log")
    return with_legend(figure, axes[0, 0])


FIGURE = Figure(
    name="pruning_length",
    source=SOURCE,
    finding=Finding(
        "The mask's calibration error (ρ = 1/2) is ≤ 0.6 of Wanda's and SparseGPT's at L = 16–256, more at 256 than 16",
        rests_on=("AP-11", "AP-53"),
    ),
    theory=THEORY,
    # with 600 steps between P2 and P3; lambda = 5 is past the stability edge from L = 128 on
    config=P3.replace(step_scale=0.01),
    sweep=after_steps(600, {"length": [16, 32, 64, 128, 256]} | AXES | {"lambda": [10.0, 20.0]})
    | {"buckets": "pad", "seeds": 32},
    quick=QUICK | {"vary": {"length": [16, 64]} | AXES, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "AP-10",
            origin=interpretation(PAPER, "figure 2(b)"),
            statement="“the relative error for all three methods grows”, read as: from L = 16 to 64 and from 64 to 256 (d = 64, rho = 1/2).",
            why="Attention over many tokens is where pruning is wanted, and where it costs most.",
            measure=Measure(
                "rise of the error of each method, L 16 to 64 and 64 to 256",
                lambda d: (
                    errors(d).sel({"pruner": list(METHODS), "length": [16, 64, 256]}).diff("length")
                ),
            ),
            bound=at_least(0.0),
        ),
        Claim(
            "AP-14",
            origin=interpretation(PAPER, "figure 2(b)"),
            statement="“Our method demonstrates a slower increase”, read as: from L = 16 to 256 its error grows less than Wanda's and less than SparseGPT's.",
            why="A slower increase would promise that the advantage widens at the lengths of real models.",
            measure=Measure(
                "rise of the mask's error minus Wanda's or SparseGPT's, L 16 to 256",
                lambda d: (
                    growth(d).sel(pruner="gradient", drop=True) - growth(d).sel(pruner=list(RIVALS))
                ),
            ),
            bound=at_most(0.0),
            expect=None,
        ),
        Claim(
            "AP-11",
            origin=interpretation(PAPER, "figure 2(b)"),
            statement="“maintaining a significant margin over both Wanda and SparseGPT”, the first half of the sentence, read as: at every L from 16 to 256 the error is at most 0.6 of that of the better of the two.",
            why="It is the main promise of the source, at lengths below and above the dimension.",
            measure=Measure(
                "error of the mask over the better of Wanda and SparseGPT, each L",
                share_of_best,  # infinite where SparseGPT has no error, in some runs at L = 16
            ),
            bound=at_most(0.6),
        ),
        Claim(
            "AP-53",
            origin=interpretation(PAPER, "figure 2(b)"),
            statement="“particularly for larger values of” L, the second half of the sentence, read as: the error is a smaller share of that of the better of the two at L = 256 than at L = 16.",
            why="It says for which lengths to expect most of the method.",
            measure=Measure(
                "change of mask's error over better of Wanda, SparseGPT, L 16 to 256",
                lambda d: share_of_best(d).isel(length=-1) - share_of_best(d).isel(length=0),
            ),
            bound=at_most(0.0),
            expect="fails",
        ),
        Claim(
            "AP-13",
            origin=interpretation(PAPER, "figure 2(b)"),
            statement="“Wanda, while showing better performance than SparseGPT for larger sequence lengths”, read as: at L = 128 or at L = 256 (d = 64, rho = 1/2).",
            why="SparseGPT corrects the kept weights, so a better Wanda would be a surprise.",
            measure=Measure(
                "Wanda's error minus SparseGPT's, the lower of L = 128 and 256",
                lambda d: (
                    (select(errors(d), "wanda") - select(errors(d), "sparsegpt"))
                    .sel(length=slice(100, None))
                    .min("length")
                ),
            ),
            bound=at_most(0.0),
            expect="fails",
        ),
        Claim(
            "AP-54",
            origin=interpretation(PAPER, "figure 2(b)"),
            statement="Wanda “becomes comparable to SparseGPT as” L “is relatively small”, read as: at L = 16 their errors differ by at most a tenth of the larger one.",
            why="At fewer tokens than dimensions the second-order correction of SparseGPT can fit all of them.",
            measure=Measure(
                "Wanda's error minus SparseGPT's, relative to the larger, L = 16",
                lambda d: rival_gap(errors(d)).sel(length=16),
            ),
            bound=between(-0.1, 0.1),
            expect="fails",
        ),
        Claim(
            "AP-55",
            origin=derived(),
            statement="SparseGPT has a smaller error than Wanda at every L from 16 to 256.",
            why="It replaces the crossing of the two baselines that the source describes.",
            measure=Measure(
                "Wanda's error minus SparseGPT's, each L from 16 to 256",
                lambda d: select(errors(d), "wanda") - select(errors(d), "sparsegpt"),
            ),
            bound=at_least(0.0),
        ),
    ),
)
