"""How does the error of the last layer's attention grow with its length and with the ratio?"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Measure, at_least, at_most, derived, interpretation
from jaxtheory.llama import layers, model

from . import PAPER, SEEDS, calibration, evaluation, measured, trained

METHODS = ("gradient", "wanda", "sparsegpt")


def experiment(
    folder: Path,
    key: int,
    progress: Any,
    steps: int,
    lengths: list[int],
    ratios: list[float],
    seeds: int,
) -> xr.Dataset:
    """Errors of the last layer, pruned alone on what reaches it, over lengths and over ratios.

    Lengths are at half the weights, ratios at the last length.
    """
    weights, config = trained(folder.parent, steps, progress)
    before = replace(weights, layers=weights.layers[:-1])
    layer = weights.layers[-1]

    def measure(cell: dict[str, Any]) -> dict[str, Any]:
        length, ratio = cell["case"].split("/")
        texts = calibration(key, cell["seed"], length=int(length)), evaluation(32, int(length))
        streams = [model.stream(before, text, config) for text in texts]
        plan, ratios = layers.LayerPlan(cell["attention"]), layers.Ratios(float(ratio), 0.0)
        sparse_layer = layers.prune_layer(
            jax.random.key(0), layer, streams[0], ratios, plan, config
        )[0]
        errors = [float(layers.attention_error(layer, sparse_layer, x, config)) for x in streams]
        return {"attention_error": errors[0], "attention_error_heldout": errors[1]}

    cases = [f"{length}/0.5" for length in lengths]
    cases += [f"{lengths[-1]}/{ratio}" for ratio in ratios if ratio != 0.5]
    axes: dict[str, list] = {"seed": list(range(seeds)), "case": cases, "attention": list(METHODS)}
    data = measured(folder, axes, measure, progress)
    pairs = [case.split("/") for case in cases]
    return data.assign_coords(
        length=("case", [int(length) for length, _ in pairs]),
        ratio=("case", [float(ratio) for _, ratio in pairs]),
    )


def at(data: xr.Dataset, along: str) -> xr.Dataset:
    """The cases over lengths (ratio 0.5) or over ratios (the last length), in order."""
    fixed = data.ratio == 0.5 if along == "length" else data.length == data.length.max()
    return data.isel(case=fixed.values).swap_dims(case=along).sortby(along)


def lead(data: xr.Dataset, along: str) -> xr.DataArray:
    """The gradient mask's error over the smaller one of Wanda and SparseGPT, calibration text."""
    error = at(data, along).attention_error
    return error.sel(attention="gradient") / error.sel(attention=["wanda", "sparsegpt"]).min(
        "attention"
    )


def rise(data: xr.Dataset, *ratios: float) -> xr.DataArray:
    """The rise of each method's error from each of some ratios to the next."""
    return at(data, "ratio").attention_error.sel(ratio=list(ratios)).diff("ratio")


def slower(data: xr.Dataset) -> xr.DataArray:
    """The rise of the gradient mask's error over that of each baseline.

    It is the rise from the first ratio to the last.
    """
    rises = rise(data, *at(data, "ratio").ratio.values[[0, -1]]).squeeze("ratio", drop=True)
    return rises.sel(attention="gradient", drop=True) / rises.sel(attention=list(METHODS[1:]))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Error against length and against ratio, on calibration and on held-out text."""
    figure, axes = plot.panels(
        2, 2, title="Error of the last layer's attention against length and ratio"
    )
    kinds = {"attention_error": "calibration text", "attention_error_heldout": "held-out text"}
    for row, (name, text) in zip(axes, kinds.items(), strict=True):
        for ax, axis in zip(row, ("length", "ratio"), strict=True):
            cases = at(data, axis)
            for color, attention in enumerate(METHODS):
                plot.series(ax, cases[name].sel(attention=attention), axis, attention, color=color)
            fixed = "ratio 0.5" if axis == "length" else f"{int(data.length.max())} tokens"
            names = {"length": "length in tokens", "ratio": "share of weights pruned"}
            plot.finish(ax, names[axis], "error of the attention", f"{text}, {fixed}")
    return figure


FIGURE = Figure(
    name="llama_last_layer",
    source=f"{PAPER}, Figure 3: last attention layer, over length and ratio",
    theory=None,
    config=None,
    experiment=experiment,
    sweep={
        "steps": 1500,
        "lengths": [16, 32, 64, 128],
        "ratios": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "seeds": SEEDS,
    },
    quick={"steps": 150, "lengths": [16, 32], "ratios": [0.3, 0.7], "seeds": 1},
    draw=draw,
    claims=(
        Claim(
            "LL-8",
            origin=interpretation(PAPER, "section 6.2, Figure 3"),
            statement="“our algorithm outperforms the baselines in different sequence lengths continuously”, read as: at ratio 0.5, for every length of 16 to 128 and in every run (calibration text).",
            why="It is the claim of the synthetic figure, on a trained layer.",
            measure=Measure(
                "mask's error over better of Wanda and SparseGPT, half pruned, each L",
                lambda data: lead(data, "length"),
            ),
            bound=at_most(1.0),
            q=1,
            expect="fails",
            example=True,
        ),
        Claim(
            "LL-9",
            origin=interpretation(PAPER, "section 6.2, Figure 3"),
            statement="“our algorithm consistently outperforms both Wanda and SparseGPT across the range”, where the range is lost and read as ratios of 0.05 to 0.9, in every run (128 tokens, calibration text).",
            why="A user who prunes a trained layer a little would choose the method on this sentence.",
            measure=Measure(
                "mask's error over better of Wanda and SparseGPT, ratios 0.05 to 0.9",
                lambda data: lead(data, "ratio"),
            ),
            bound=at_most(1.0),
            q=1,
            expect="fails",
            example=True,
        ),
        Claim(
            "LL-17",
            origin=derived("measured"),
            statement="For 128 tokens and ratios of 0.7 and more, the error of the gradient mask is at most 0.8 of those of Wanda and SparseGPT, in every run (calibration text).",
            why="It gives the range in which the advantage is real on a trained layer.",
            measure=Measure(
                "mask's error over better of Wanda and SparseGPT, ratios from 0.7 on",
                lambda data: lead(data, "ratio").sel(ratio=slice(0.65, None)),
            ),
            bound=at_most(0.8),
            q=1,
            example=True,
        ),
        Claim(
            "LL-10",
            origin=interpretation(PAPER, "section 6.2, Figure 3"),
            statement="“as the pruning ratio increases, all methods exhibit a rise in relative error”, read as: the error of the gradient mask, of Wanda and of SparseGPT rises from ratio 0.05 to 0.2, to 0.5 and to 0.8, in every run (128 tokens, calibration text).",
            why="On synthetic data it fails for the gradient mask.",
            measure=Measure(
                "rise of the error of each method, ratio 0.05 to 0.2, to 0.5, to 0.8",
                lambda data: rise(data, 0.05, 0.2, 0.5, 0.8),
            ),
            bound=at_least(0.0),
            q=1,
            expect=None,
            example=True,
        ),
        Claim(
            "LL-18",
            origin=interpretation(PAPER, "section 6.2, Figure 3"),
            statement="“with a much lower increasing rate”, read as: from ratio 0.05 to 0.9 the error of the gradient mask rises by at most 0.6 of the rise of Wanda's and of SparseGPT's, in every run (128 tokens, calibration text).",
            why="A slow rise would make strong pruning cheap.",
            measure=Measure(
                "rise of mask's error over Wanda's or SparseGPT's, ratio 0.05 to 0.9", slower
            ),
            bound=at_most(0.6),
            q=1,
            expect=None,
            example=True,
        ),
    ),
)
