"""Does the gradient mask keep more of a language model's perplexity than Wanda and SparseGPT?"""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Measure, at_least, at_most, derived, interpretation
from jaxtheory.llama import Fit, Gradient

from . import PAPER, PUBLISHED, SEEDS, calibration, evaluation, excess, measured, pruned, trained

TABLE = f"{PAPER}, Table 1"
ATTENTION = ("dense", "gradient", "sparsegpt", "magnitude", "wanda")
COLORS = {"gradient": 0, "wanda": 1, "sparsegpt": 2, "magnitude": 3}  # as on the other figures
MLP = ("dense", "wanda", "sparsegpt")


def experiment(
    folder: Path,
    key: int,
    progress: Any,
    steps: int,
    fit_steps: int,
    ratios: list[float],
    seeds: int,
) -> xr.Dataset:
    """Table 1's grid over calibration seeds and ratios; the MLP is pruned at one half."""
    weights, config = trained(folder.parent, steps, progress)
    heldout, gradient = evaluation(), Gradient(fit=Fit(steps=fit_steps))

    def measure(cell: dict[str, Any]) -> dict[str, Any]:
        shares = {"attention": ("ratio", cell["ratio"]), "mlp": ("mlp_ratio", 0.5)}
        methods = {name: cell[name] for name in shares}
        methods |= dict(shares[name] for name in shares if cell[name] != "dense")
        tokens = calibration(key, cell["seed"])
        return pruned(weights, config, tokens, heldout, gradient=gradient, **methods)

    axes = {"seed": range(seeds), "ratio": ratios, "mlp": MLP, "attention": ATTENTION}
    return measured(
        folder, {name: list(values) for name, values in axes.items()}, measure, progress
    )


def share_of_best(data: xr.Dataset) -> xr.DataArray:
    """The gradient mask's excess perplexity over the smaller one of Wanda's and SparseGPT's."""
    cost = excess(data)
    rivals = cost.sel(attention=["wanda", "sparsegpt"]).min("attention")
    return cost.sel(attention="gradient", drop=True) / rivals


def draw(data: xr.Dataset) -> plot.Drawing:
    """Perplexity over that of the dense model, the source's and ours, by MLP; errors by layer."""
    ratios = data.ratio.values
    title = "Perplexity and error of a pruned Llama"
    figure, axes = plot.panels(len(MLP) + 1, title=title, width=3.4)
    ours = data.perplexity / data.perplexity.sel(attention="dense", mlp="dense", drop=True)
    names = ["source's, 0.5", *[f"ours, {ratio:g}" for ratio in ratios]]
    for ax, mlp in zip(axes[0], MLP, strict=False):
        for attention, color in COLORS.items():
            published = PUBLISHED[mlp].get(attention, np.nan) / PUBLISHED["dense"]["dense"]
            some = ours.sel(mlp=mlp, attention=attention, drop=True)
            style = {"color": plot.COLORS[color], "marker": plot.MARKERS[color], "linewidth": 0.6}
            heights = [published, *some.mean("seed").values]
            ax.plot(range(len(names)), heights, markersize=3.2, **style)
            plot.dots(ax, range(1, len(names)), some, attention, color=color)
        plot.finish(ax, "", "perplexity / dense", f"MLP: {mlp}", legend=False, yscale="log")
        ax.set_ylim(0.97, 1.1 * max(float(ours.mean("seed").max()), 3.7))
        plot.ticks(ax.yaxis, [1, 1.5, 2, 3])
        plot.ticks(ax.xaxis, range(len(names)), names)
    error = data.attention_error.sel(ratio=ratios[-1], mlp="dense")
    for attention, color in COLORS.items():
        plot.series(axes[0, -1], error.sel(attention=attention), "layer", attention, color=color)
    at = f"ratio {ratios[-1]:g}, dense MLP"
    plot.finish(axes[0, -1], "layer", "error of the attention", at, legend=False)
    axes[0, -1].set_ylim(0, 1.1 * float(error.max()))
    plot.legend_below(figure, axes[0, -1])
    plot.remark(figure, "The source's: Llama of 1B parameters, C4.")
    return figure


FIGURE = Figure(
    name="llama_table",
    source=f"{TABLE}: perplexity by pruning of MLP and attention",
    theory=None,
    config=None,
    experiment=experiment,
    sweep={"steps": 1500, "fit_steps": 300, "ratios": [0.5, 0.8], "seeds": SEEDS},
    quick={"steps": 150, "fit_steps": 20, "ratios": [0.8], "seeds": 1},
    draw=draw,
    claims=(
        Claim(
            "LL-1",
            origin=interpretation(PAPER, "section 6.3 and Table 1"),
            statement="“always outperform Wanda Attention pruning and SparseGPT Attention pruning by a large margin when combined with Dense/Wanda/SparseGPT MLP pruning methods”, read as: at ratios of 0.5 and 0.8, with every MLP and in every run, the gradient mask costs at most 0.6 of the perplexity that the better of the two costs.",
            why="It is the result in the unit that users of a language model measure.",
            measure=Measure(
                "perplexity cost, mask over Wanda or SparseGPT, each ratio and MLP", share_of_best
            ),
            bound=at_most(0.6),
            q=1,
            expect="fails",
            example=True,
        ),
        Claim(
            "LL-4",
            origin=derived("measured"),
            statement="At ratio 0.8 the gradient mask costs less perplexity than Wanda and SparseGPT, with every MLP and in every run.",
            why="The advantage of the source is one of strong pruning, where its table has no ratio.",
            measure=Measure(
                "perplexity cost, mask over Wanda or SparseGPT, ratio 0.8, each MLP",
                lambda data: share_of_best(data).sel(ratio=0.8),
            ),
            bound=at_most(1.0),
            q=1,
            example=True,
        ),
        Claim(
            "LL-7",
            origin=interpretation(
                PAPER, "Table 1: 26.074 with Wanda's MLP, 36.641 with SparseGPT's"
            ),
            statement="Table 1 has less perplexity with “Wanda MLP” than with “SparseGPT MLP”, read as: this also holds with the MLP at 0.5 and dense attention, in every run.",
            why="SparseGPT updates the kept weights, so a worse MLP hints at a fault in the table's baseline.",
            measure=Measure(
                "perplexity, MLP by SparseGPT minus MLP by Wanda, dense attention",
                lambda data: data.perplexity.sel(attention="dense", ratio=0.5).pipe(
                    lambda perplexity: perplexity.sel(mlp="sparsegpt") - perplexity.sel(mlp="wanda")
                ),
            ),
            bound=at_least(0.0),
            q=1,
            expect="fails",
            example=True,
        ),
    ),
)
