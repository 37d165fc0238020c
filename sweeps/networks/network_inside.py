"""When in training does a Transformer begin to use the parent, and does its attention tell?

The standard block with one layer of four heads on fresh random walks, p = 0.7.
"""

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import Figure, networks, plot

from ._cells import network

THEORY = network(jaxtheory.tasks.random_walk)
CONFIG = THEORY.Config(
    num_states=6,
    length=13,
    encoding_dim=13,
    num_sequences=64,
    clockwise_probability=0.7,
    depth=1,
    heads=4,
    width=16,
    rate=0.003,
    warmup=50,
    horizon=2000,
)
HUES = (0, 1, 2, 5)  # of heads


def draw(data: xr.Dataset) -> plot.Drawing:
    """Of one run what each token and each head is worth along training, beside the attention."""
    figure, ((losses, edges, attention, heads),) = plot.panels(4, across=2)
    one = data.isel(seed=0, step=slice(1, None))
    one = one.assign(attention=one.attention.isel(layer=0, query=-1).mean("head"))
    losses.plot(one.step, one.loss, color=plot.COLORS[0])
    plot.theory(losses, 0, float(one.predicted_loss.isel(step=0)), "", says="best loss")
    plot.finish(losses, "step t", "test loss", "one run", xscale="log")
    parent = int(data.sizes["key"]) - 2
    for ax, name, label in (
        (edges, "edges", "loss without the token"),
        (attention, "attention", "attention of the query"),
    ):
        for key in range(data.sizes["key"]):
            of_parent = key == parent
            style = {"color": plot.COLORS[1]} if of_parent else {"color": "0.7", "lw": 0.8}
            words = {parent: "the parent", 0: "the others"}.get(key, "")
            ax.plot(one.step, one[name].isel(key=key), label=words, **style)
        plot.finish(ax, "step t", label, xscale="log")
    for head in range(data.sizes["head"]):
        rises = one.heads.isel(layer=0, head=head)
        heads.plot(one.step, rises, color=plot.COLORS[HUES[head]], label=f"head {head + 1}")
    plot.finish(heads, "step t", "loss without the head", xscale="log")
    return figure


FIGURE = Figure(
    name="network_inside",
    source="random_walk: selection of the parent",
    theory=THEORY,
    config=CONFIG,
    sweep={
        "seeds": 8,
        "steps": 2000,
        "record": [0, *sorted({round(t) for t in np.geomspace(10, 2000, 40)})],
        "algorithm": "adamw",
        "dtype": "float32",
        "observe": {
            "edges": networks.edge_effects(THEORY),
            "heads": networks.head_effects(THEORY),
            "attention": jaxtheory.observables.attention,
        },
        "dims": {
            "edges": ("key",),
            "heads": ("layer", "head"),
            "attention": ("layer", "head", "query", "key"),
        },
    },
    quick={"seeds": 2, "steps": 40, "record": [0, 10, 20, 40]},
    draw=draw,
    claims=(),
)
