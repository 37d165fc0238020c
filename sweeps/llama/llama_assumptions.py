"""What are the constants of the source's assumptions on a trained model, layer by layer?"""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Measure, at_least, interpretation
from jaxtheory.llama import Config, Layer, model

from . import PAPER, SEEDS, calibration, measured, trained

SINGULAR = 1e-12  # smallest over largest eigenvalue


def experiment(folder: Path, key: int, progress: Any, steps: int, seeds: int) -> xr.Dataset:
    """Per layer: the extreme eigenvalues of X X^T, the smallest attention, the smallest weight.

    X X^T is that of n = d tokens after RMSNorm, attention that on the causal support, and the
    weight one of W_Q and W_K.
    """
    weights, config = trained(folder.parent, steps, progress)

    def measure(cell: dict[str, Any]) -> dict[str, Any]:
        x = model.embed(weights, calibration(key, cell["seed"]))
        rows = []
        for layer in weights.layers:
            rows.append(constants(layer, model.rms_norm(x, layer.input_norm, config), config))
            x = model.block(layer, x, config)
        return {name: [row[name] for row in rows] for name in rows[0]}

    return measured(folder, {"seed": list(range(seeds))}, measure, progress)


def constants(layer: Layer, inputs: Any, config: Config) -> dict[str, float]:
    """The constants of X X^T, attention and weights on inputs (S, n, d).

    Of X X^T those of the median window, and the share of windows where it is singular; of attention
    and weights the smallest.
    """
    X = np.asarray(inputs, np.float64)
    values = np.linalg.eigvalsh(X @ X.swapaxes(1, 2))
    ratio = values[:, 0].clip(0) / values[:, -1]
    projected = model.project(layer, inputs, config)
    z = np.asarray(model.scores(projected, config), np.float64)
    n = z.shape[-1]
    causal = np.tril(np.ones((n, n), bool))
    top = np.where(causal, z, -np.inf)
    total = top.max(-1, keepdims=True)
    log_f = z - total - np.log(np.sum(np.exp(top - total), -1, keepdims=True))
    return {
        "gram_floor": float(np.median(values[:, 0])),
        "gram_ratio": float(np.median(ratio)),
        "singular": float(np.mean(ratio < SINGULAR)),
        "log10_attention_floor": float(np.where(causal, log_f, 0).min() / np.log(10)),
        "weight_floor": float(min(np.abs(layer.query).min(), np.abs(layer.key).min())),
    }


def draw(data: xr.Dataset) -> plot.Drawing:
    """A panel per constant, a line per seed."""
    panels = {
        "singular": ("share of windows with singular $X X^T$", "linear"),
        "log10_attention_floor": (r"$\log_{10}$ of the smallest attention", "linear"),
        "weight_floor": ("smallest |weight| of $W_Q$, $W_K$", "log"),
    }
    figure, axes = plot.panels(3, title="Constants of the source's assumptions, layer by layer")
    for ax, (name, (label, scale)) in zip(axes[0], panels.items(), strict=True):
        plot.series(ax, data[name], "layer", seeds=True)
        plot.finish(ax, "layer", label, legend=False, yscale=scale)
        plot.ticks(ax.xaxis, data.layer.values)
    plot.ticks(ax.yaxis, [1e-7, 1e-6, 1e-5], ["$10^{-7}$", "$10^{-6}$", "$10^{-5}$"])
    ax.set_ylim(1e-7, 1e-5)
    return figure


FIGURE = Figure(
    name="llama_assumptions",
    source=f"{PAPER}, section 6.2: the constants of the assumptions",
    theory=None,
    config=None,
    experiment=experiment,
    sweep={"steps": 1500, "seeds": SEEDS},
    quick={"steps": 150, "seeds": 1},
    draw=draw,
    claims=(
        Claim(
            "LL-13",
            origin=interpretation(PAPER, "section 6.2"),
            statement="“We verify these assumptions”, read as: X X^T of 128 tokens in 128 dimensions is regular in every layer, for most windows. In the first layer equal tokens are equal rows. In every layer a token that is repeated at the start of a window gives equal rows.",
            why="Without it the convergence theorem has the rate 0.",
            measure=Measure(
                "share of windows of 128 tokens with a regular X Xᵀ, each layer",
                lambda data: 1 - data.singular,
            ),
            bound=at_least(0.5),
            q=1,
            expect="fails",
            example=True,
        ),
    ),
)
