"""Does a layer of attention find the parent of a random walk's next state?

A network in one file: a Flax module, trained by AdamW on the walks of `jaxtheory.tasks`. Replace
the module, its config and the task, and run `jaxtheory verify FILE.py` after each.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from jaxtheory import Claim, Figure, Size, from_flax, plot, size, tasks, traced
from jaxtheory.claims import Measure, at_most, derived, last
from jaxtheory.theories import random_walk

TASK = tasks.random_walk


class Settings(random_walk.Config):
    """The fields of the task, and those of the network: what a sweep may vary."""

    width: Size = size(8, "width", "length of the embeddings")
    rate: float = traced(0.02, "rate", "learning rate of AdamW", "(0, inf)")
    weight_decay: float = traced(0.0, "wd", "weight decay of AdamW", "[0, inf)")


class Network(nn.Module):
    """One head of attention from the last position, and a linear layer of what it reads."""

    vocabulary: int
    outputs: int
    width: int

    @nn.compact
    def __call__(self, tokens):
        """Return the logits of the next state at each position (B, L, outputs)."""
        x = nn.Embed(self.vocabulary, self.width)(tokens)
        places = self.param("places", nn.initializers.normal(0.1), (x.shape[1], self.width))
        q, k = nn.Dense(self.width)(x + places), nn.Dense(self.width)(x + places)
        maps = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / self.width**0.5)
        self.sow("intermediates", "attention", maps[:, None])  # (B, heads, query, key)
        return nn.Dense(self.outputs)(jnp.einsum("bqk,bkd->bqd", maps, x))


def network(config):
    """The module of a config; .cap is the length of a size."""
    return Network(TASK.vocabulary(config), TASK.outputs(config), config.width.cap)


def optimizer(config):
    """AdamW, whose rate and weight decay a sweep varies without compiling again."""
    return optax.adamw(config.rate, weight_decay=config.weight_decay)


SMALL = Settings(length=9, num_sequences=500, clockwise_probability=0.8)
THEORY = from_flax(
    name="template",
    module=network,
    task=TASK,
    optimizer=optimizer,
    Config=Settings,
    examples=(SMALL.replace(length=4, num_sequences=8, width=3),),
)


def excess(data):
    """The loss of one run over the best possible one at the end, for each rate."""
    end = last(data)
    return end.loss / end.predicted_loss


def draw(data):
    """The loss along training for each learning rate, and the best possible one."""
    figure, ((ax,),) = plot.panels(1, title=f"Attention on walks, {data.sizes['seed']} seeds")
    for color, rate in enumerate(data.rate.values):
        at = data.sel(rate=rate)
        plot.series(ax, at.loss, "step", f"rate = {rate:g}", color=color, markers=False)
    best = at.predicted_loss.mean("seed")
    plot.theory(ax, data.step.values, best, "best possible", color=0)
    plot.finish(ax, "step", "loss")
    return figure


FIGURE = Figure(
    name="template",
    source="derived",
    theory=THEORY,
    config=SMALL,
    sweep={"vary": {"rate": [0.01, 0.03]}, "seeds": 8, "steps": 200},
    quick={"seeds": 4, "steps": 100},
    draw=draw,
    claims=(
        Claim(
            "T-1",
            origin=derived(),
            statement="The loss ends within 20 % of the entropy of a step, at each rate.",
            measure=Measure("loss over the entropy of a step, each rate", excess),
            bound=at_most(1.2),
        ),
    ),
)
