"""Made-up results of the experiments on a Llama."""

import numpy as np
import xarray as xr

from . import Case

LAYERS = 4


def grid(**axes):
    """A dataset with coordinates and `one`."""
    sizes = {name: len(values) for name, values in axes.items()}
    return xr.Dataset({"one": (tuple(sizes), np.ones(tuple(sizes.values())))}, axes)


def lookup(values, names, by):
    """A value per name of a dimension."""
    return xr.DataArray([values[str(name)] for name in names.values], {by: names.values})


def table(costs, errors, mlp):
    """Perplexity 5 + cost of MLP + cost of attention (by ratio), errors by attention."""

    def make(options):
        methods = ["dense", "gradient", "sparsegpt", "magnitude", "wanda"]
        d = grid(
            seed=range(options["seeds"]),
            ratio=options["ratios"],
            mlp=["dense", "wanda", "sparsegpt"],
            attention=methods,
        )
        scale = xr.where(d.ratio == 0.8, 1.0, 0.1)
        cost = lookup(dict(zip(methods, costs, strict=True)), d.attention, "attention") * scale
        d["perplexity"] = d.one * (5 + lookup(mlp, d.mlp, "mlp") + cost)
        error = lookup(dict(zip(methods, errors, strict=True)), d.attention, "attention")
        layer = xr.DataArray(np.linspace(0, 1, LAYERS), {"layer": range(LAYERS)})
        d["attention_error"] = d.one * error * (1 + layer * (d.attention == "gradient"))
        return d

    return make


def last_layer(gradient, growing):
    """Errors: 1 of the baselines (growing or not), a factor of it for the gradient mask."""

    def make(options):
        cases = [(length, 0.5) for length in options["lengths"]]
        cases += [(options["lengths"][-1], ratio) for ratio in options["ratios"] if ratio != 0.5]
        d = grid(
            seed=range(options["seeds"]),
            case=[f"{n}/{r}" for n, r in cases],
            attention=["gradient", "wanda", "sparsegpt"],
        ).assign_coords(
            length=("case", [n for n, _ in cases]), ratio=("case", [r for _, r in cases])
        )
        factor = xr.where(d.attention == "gradient", gradient, 1.0)
        base = 1 + growing * (d.ratio + d.length / 1000)
        d["attention_error"] = d["attention_error_heldout"] = d.one * base * factor
        return d

    return make


def variants(best):
    """Cost 1 for SparseGPT, another one for the variants."""

    def make(options):
        methods = ["dense", "sparsegpt", "sparsegpt, more text", "magnitude", "wanda"]
        methods += options["names"]
        d = grid(
            seed=range(options["seeds"]),
            ratio=options["ratios"],
            temperature=[False, True],
            variant=methods,
        )
        cost = lookup(dict.fromkeys(methods, 1.0) | {"dense": 0.0}, d.variant, "variant")
        d["perplexity"] = d.one * (5 + xr.where(d.variant.isin(options["names"]), best, cost))
        return d

    return make


def assumptions(singular, attention):
    def make(options):
        d = grid(seed=range(options["seeds"]), layer=range(LAYERS))
        return d.assign(
            singular=d.one * singular,
            gram_floor=d.one,
            weight_floor=d.one,
            log10_attention_floor=d.one * attention,
        )

    return make


BETTER = {"dense": 0.0, "wanda": 0.3, "sparsegpt": 0.5}
WORSE = {"dense": 0.0, "wanda": 0.3, "sparsegpt": 0.1}
CASES = {
    "the gradient mask best": Case(
        "llama_table",
        table([0, 0.5, 1, 2, 3], [0, 0.2, 0.5, 0.6, 0.9], BETTER),
        "1 4 7",
        drawn=True,
    ),
    "the gradient mask worst": Case(
        "llama_table", table([0, 3, 1, 2, 2.5], [0, 0.8, 0.5, 0.6, 0.9], WORSE), ""
    ),
    "the last layer as in the source": Case(
        "llama_last_layer", last_layer(0.4, 1.0), "8 9 10 17 18", drawn=True
    ),
    "the last layer the other way": Case("llama_last_layer", last_layer(1.5, -0.1), ""),
    "a variant better than SparseGPT": Case("llama_variants", variants(0.6), "11", drawn=True),
    "a variant a little better": Case("llama_variants", variants(0.8), ""),
    "assumptions that hold": Case("llama_assumptions", assumptions(0.0, -30.0), "13", drawn=True),
    "assumptions that fail": Case("llama_assumptions", assumptions(0.9, -1.0), ""),
}
