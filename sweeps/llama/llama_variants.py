"""Does a variant of the gradient mask beat SparseGPT in held-out perplexity at high ratios?"""

from pathlib import Path
from typing import Any

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Measure, at_most, derived
from jaxtheory.llama import Fit, Gradient

from . import PAPER, SAMPLES, SEEDS, calibration, evaluation, measured, pruned, trained

# one grid of lambda and one number of steps for all
PLAIN = Gradient((2.4e-3, 4.8e-3, 9.6e-3), fit=Fit(step_scale=0.016))
VARIANTS = {  # name -> settings, calibration windows
    "plain": (PLAIN, SAMPLES),
    "more text": (PLAIN, 2 * SAMPLES),
    "fresh text": (PLAIN._replace(fit=PLAIN.fit._replace(batch=SAMPLES)), 8 * SAMPLES),
    "ratio-aware": (PLAIN._replace(fit=PLAIN.fit._replace(ratio_aware=True)), SAMPLES),
    "ranked by |M o W|": (PLAIN._replace(ranking="magnitude_mask"), SAMPLES),
    "updated": (PLAIN._replace(update=True), SAMPLES),
    "stopped early": (
        PLAIN._replace(selection=0.5, fit=PLAIN.fit._replace(stops=(0.25, 0.5, 0.75, 1.0))),
        2 * SAMPLES,
    ),
}
TICKS = (0.1, 0.2, 0.5, 1)
BASELINES = {  # name -> method, calibration windows; SparseGPT also on as much text as any variant
    "dense": ("dense", SAMPLES),
    "sparsegpt": ("sparsegpt", SAMPLES),
    "sparsegpt, more text": ("sparsegpt", 8 * SAMPLES),
    "magnitude": ("magnitude", SAMPLES),
    "wanda": ("wanda", SAMPLES),
}


def experiment(
    folder: Path,
    key: int,
    progress: Any,
    steps: int,
    fit_steps: int,
    ratios: list[float],
    seeds: int,
    names: list[str],
) -> xr.Dataset:
    """Every variant and baseline, each plain and with a logit temperature per head; dense MLP."""
    weights, config = trained(folder.parent, steps, progress)
    heldout = evaluation()

    def measure(cell: dict[str, Any]) -> dict[str, Any]:
        name, gradient, attention = cell["variant"], PLAIN, "gradient"
        if name in BASELINES:
            attention, samples = BASELINES[name]
        else:
            gradient, samples = VARIANTS[name]
        gradient = gradient._replace(fit=gradient.fit._replace(steps=fit_steps))
        shares = {name: cell[name] for name in ("ratio", "temperature") if attention != "dense"}
        return pruned(
            weights,
            config,
            calibration(key, cell["seed"], samples),
            heldout,
            attention=attention,
            gradient=gradient,
            **shares,
        )

    axes: dict[str, list] = {
        "seed": list(range(seeds)),
        "ratio": ratios,
        "temperature": [False, True],
        "variant": [*BASELINES, *names],
    }
    return measured(folder, axes, measure, progress)


def lead(data: xr.Dataset) -> xr.DataArray:
    """Excess perplexity of the best variant over that of SparseGPT.

    SparseGPT is on the amount of text that is better for it.
    """
    perplexity = data.perplexity.sel(temperature=False)
    cost = perplexity - perplexity.sel(variant="dense", drop=True)
    ours = cost.sel(variant=data.variant.isin(list(VARIANTS))).min("variant")
    return ours / cost.sel(variant=["sparsegpt", "sparsegpt, more text"]).min("variant")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Excess perplexity by method, plain and with temperatures, a panel per ratio."""
    figure, axes = plot.panels(
        data.sizes["ratio"],
        title="Variants of the gradient mask: perplexity above the dense model",
        height=3.6,
    )
    methods = [name for name in data.variant.values if name not in ("dense", "wanda")]
    for ax, ratio in zip(axes[0], data.ratio.values, strict=True):
        perplexity = data.perplexity.sel(ratio=ratio)
        for color, (temperature, text) in enumerate(
            ((False, "as pruned"), (True, "with temperatures"))
        ):
            cost = (perplexity - perplexity.sel(variant="dense")).sel(
                temperature=temperature, variant=methods
            )
            for seed in data.seed.values:
                ax.plot(
                    cost.sel(seed=seed).values,
                    range(len(methods)),
                    plot.MARKERS[color],
                    color=plot.COLORS[color],
                    alpha=0.6,
                    markersize=4,
                    label=text if seed == 0 else None,
                )
        names = ["gradient mask" if name == "plain" else name for name in methods]
        ax.set_yticks(range(len(methods)), [name.replace("|M o W|", "|M ∘ W|") for name in names])
        plot.finish(ax, "perplexity above dense", "", f"ratio {ratio:g}", xscale="log")
        ax.minorticks_off()
        ax.set_xticks(TICKS, map(str, TICKS))
    plot.remark(figure, f"Marks: single runs of n = {data.sizes['seed']} calibration seeds.")
    return figure


FIGURE = Figure(
    name="llama_variants",
    source=f"{PAPER}, Table 1, and variants of ours",
    theory=None,
    config=None,
    experiment=experiment,
    sweep={
        "steps": 1500,
        "fit_steps": 150,
        "ratios": [0.7, 0.8],
        "seeds": SEEDS,
        "names": list(VARIANTS),
    },
    quick={
        "steps": 150,
        "fit_steps": 20,
        "ratios": [0.8],
        "seeds": 1,
        "names": ["plain", "updated"],
    },
    draw=draw,
    claims=(
        Claim(
            "LL-11",
            origin=derived("arXiv 2410.11261, Table 1, beyond it"),
            statement="In every run, at ratio 0.8 with the dense MLP, the best variant of the gradient mask costs at most 0.7 of SparseGPT's held-out perplexity above dense.",
            why="It shows how much of the method is left when SparseGPT may use as much text.",
            measure=Measure(
                "held-out perplexity cost, best variant over SparseGPT, ratio 0.8",
                lambda data: lead(data).sel(ratio=0.8),
            ),
            bound=at_most(0.7),
            q=1,
            example=True,
        ),
    ),
)
