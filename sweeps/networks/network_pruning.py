"""Does the gradient mask prune a trained attention layer better than Wanda and SparseGPT?"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, last
from jaxtheory.theories.attention_pruning import model, predictions
from jaxtheory.theories.attention_pruning.analyses import pruning

from ._cells import Ladder, Trained, learned, learns, network, panels, parts, uses

RATIOS = (0.2, 0.5, 0.8)
PRUNERS = ("gradient", "wanda", "sparsegpt", "magnitude")
MASK = {"regularization": 0.01}  # of the gradient mask, for weights of every network
MASK_STEPS = 1500
DATA: dict[str, Any] = {
    "dimension": 8,
    "length": 16,
    "num_sequences": 64,
    "rank": 4,
    "logit_scale": 20.0,
}
THEORY = jaxtheory.theories.get("attention_pruning")


def layer(params: Mapping[str, Any], problem: Any) -> model.Problem:
    """A problem of the theory: W_Q and W_K of the first layer on what it sees of the sequences.

    W_Q and W_K are without their biases. What the layer sees are the outputs of a network of
    depth 0 with the same embedding, positions and norm.
    """
    width = params["embed"]["kernel"].shape[1]
    head = {"kernel": jnp.eye(width), "bias": jnp.zeros(width)}
    weights = {"embed": params["embed"], "positions": params["positions"], "head": head}
    norm: Any = "none"
    if "attention_norm_0" in params:
        weights["final_norm"], norm = params["attention_norm_0"], "pre-layernorm"
    before: Any = jaxtheory.networks.Transformer(
        outputs=width, depth=0, heads=1, width=width, norm=norm
    )

    def embed(x: jax.Array) -> jax.Array:
        outputs: jax.Array = before.apply({"params": weights}, x)
        return outputs

    query, key = (params["attention_0"][name]["kernel"] for name in ("query", "key"))
    query = query / len(query) ** 0.5
    unused = jnp.zeros((3, *query.shape), query.dtype)
    inputs, heldout, mask = embed(problem.inputs), embed(problem.heldout), problem.attention_mask
    return model.Problem(inputs, heldout, query, key, query @ key.T, mask, unused)


def errors(problem: model.Problem, config: Any) -> Float[Array, "ratio pruner"]:
    """The relative errors of attention by ratio, of the theory's mask and of other pruners.

    The mask is that after 1500 steps, the pruners are those that it is compared with.
    """
    mask, key = THEORY.algorithms["gradient_descent"], jax.random.key(0)
    batch = model.Batch(problem.inputs)
    state = jax.lax.fori_loop(
        0,
        MASK_STEPS,
        lambda t, state: mask.step(key, t, state, batch, problem, config),
        mask.init(key, problem, config),
    )
    rows = []
    for ratio in RATIOS:
        at = config.replace(pruning_ratio=ratio)
        weights = pruning.pruned_weights(mask.params(state, problem, at), problem, at)
        fitted = pruning.plain_errors(weights[None], problem, at)["relative_error"]
        baselines = predictions.baselines(problem, at)["relative_error"]
        rows.append(jnp.concatenate([fitted, baselines])[: len(PRUNERS)])
    return jnp.stack(rows)


def leads(table: Any) -> dict[str, Any]:
    """Error of the mask minus the least of Wanda's and SparseGPT's, and minus that of magnitude.

    table: errors by ratio and pruner.
    """
    mask, wanda, sparsegpt, magnitude = (table[..., i] for i in range(len(PRUNERS)))
    lead = mask - np.minimum(wanda, sparsegpt)
    named = {f"lead_{round(100 * ratio)}": lead[..., i] for i, ratio in enumerate(RATIOS)}
    return named | {"magnitude_50": (mask - magnitude)[..., 1]}


def pruned(trained: Trained) -> Mapping[str, xr.DataArray]:
    """Return the error of the mask less that of its rivals, on networks of one head, by seed."""
    theory, network, data = trained
    if network.heads.cap > 1:
        return {}
    law = {name: getattr(network, name) for name in DATA}
    config = THEORY.Config(**law, **MASK).replace(dimension=network.width.cap)
    layers = []
    for seed in data.seed.values:
        params = jaxtheory.load_params(data, theory, seed=seed)["params"]
        layers.append(layer(params, jaxtheory.load_problem(data, theory, seed=seed)))
    problems = jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)
    table = jax.jit(jax.vmap(lambda problem: errors(problem, config)))(problems)
    return {
        name: xr.DataArray(values, {"seed": data.seed}, ["seed"])
        for name, values in leads(np.asarray(table)).items()
    }


def of_mask(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return the same for the weights of the theory, half of them pruned."""
    errors = last(data.relative_error)
    mask, wanda, sparsegpt = (errors.sel(pruner=name, drop=True) for name in PRUNERS[:3])
    return {"lead_50": mask - xr.where(wanda < sparsegpt, wanda, sparsegpt)}


PRUNING = Ladder(
    theory=THEORY,
    task=jaxtheory.tasks.attention_pruning,
    network=network(jaxtheory.tasks.attention_pruning),
    data=DATA,
    long={"length": 256, "dimension": 64},
    theorem={"settings": MASK | {"pruning_ratio": 0.5}, "steps": MASK_STEPS},
    read=of_mask,
    metrics=("attention_overlap",),
    also=pruned,
)
TASK, TOKENS = "to imitate an attention layer", "the token with most attention"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and what the mask gains, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the token / gap",
        "lead_20": "mask − best rival, 20 % pruned",
        "lead": "mask − best rival, mean of 50 and 80 %",
    }
    return panels(data.assign(lead=(data.lead_50 + data.lead_80) / 2), shown)


FIGURE = Figure(
    name="network_pruning",
    source="attention_pruning: the gradient mask against Wanda and SparseGPT",
    finding=Finding(
        "On layers that have learned the mask beats Wanda and SparseGPT on average of 50 and 80 % pruned, not at 20 %",
        rests_on=("NW-100", "NW-101"),
    ),
    **parts(PRUNING, steps=2000),
    draw=draw,
    claims=(
        learns("NW-97", TASK),
        uses("NW-98", TASK, TOKENS),
        Claim(
            "NW-100",
            origin=derived("figure 2(c) of the source, on trained weights"),
            statement="With half or 0.8 of the weights pruned the gradient mask has a smaller error than Wanda and SparseGPT on the attention layers of networks of one head that have learned to imitate, by 0.05 or more on average over both shares and the networks.",
            measure=Measure(
                "mean error, mask minus better of Wanda and SparseGPT, ρ = 0.5 and 0.8, those that learned",
                lambda data: (learned(data, "lead_50") + learned(data, "lead_80")).mean("cell") / 2,
            ),
            bound=at_most(-0.05),
            why="Where much is pruned, the advantage of the source is there on weights that gradient descent has found, too; at half it is not in each network.",
        ),
        Claim(
            "NW-101",
            origin=derived("measured"),
            statement="With a fifth of the weights pruned the gradient mask has a larger error than the better of Wanda and SparseGPT on the attention layers of networks of one head that have learned to imitate, by 0.03 or more on average.",
            measure=Measure(
                "mean error, mask minus better of Wanda and SparseGPT, ρ = 0.2, those that learned",
                lambda data: learned(data, "lead_20").mean("cell"),
            ),
            bound=at_least(0.03),
            why="Who prunes few weights should not use the mask on trained layers.",
        ),
        Claim(
            "NW-102",
            origin=derived("measured"),
            statement="With half of the weights pruned the error of the gradient mask on networks of one head that have learned to imitate is smaller than that of the smallest entries of W = W_Q W_K^T, by at most 0.1 on average over the networks.",
            measure=Measure(
                "mean error, mask minus magnitude of W, ρ = 0.5, those that learned",
                lambda data: learned(data, "magnitude_50").mean("cell"),
            ),
            bound=between(-0.1, 0),
            why="Much of the advantage comes from pruning the fused weights, which needs no gradient.",
        ),
    ),
)
