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
    """Perplexity of every cell, a panel per ratio, beside the source's; errors by layer."""
    ratios = data.ratio.values
    figure, axes = plot.panels(
        len(ratios) + 2, title="Perplexity and error of a pruned Llama", width=3.4
    )
    source = xr.DataArray(
        [[PUBLISHED[m].get(a, np.nan) for a in ATTENTION] for m in MLP],
        {"mlp": list(MLP), "attention": list(ATTENTION)},
    )
    for ax, ratio in zip(axes[0], ratios, strict=False):
        plot.heat(ax, data.perplexity.sel(ratio=ratio), "attention", "mlp", digits=2)
        plot.finish(ax, "attention", "MLP", f"perplexity, ratio {ratio:g}", legend=False)
    plot.heat(axes[0, -2], source, "attention", "mlp", digits=1)
    plot.finish(axes[0, -2], "attention", "MLP", "the source's (1B, C4)", legend=False)
    error = data.attention_error.sel(ratio=ratios[-1], mlp="dense")
    for color, attention in enumerate(ATTENTION[1:]):
        plot.series(axes[0, -1], error.sel(attention=attention), "layer", attention, color=color)
    plot.finish(axes[0, -1], "layer", "error of the attention", f"ratio {ratios[-1]:g}, dense MLP")
    axes[0, -1].set_ylim(0, 1.6 * float(error.max()))
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
