"""Shared by the tests of the tasks: small configs, and outputs and maps in place of a network."""

import jax
import jax.numpy as jnp

from jaxtheory import tasks
from jaxtheory.ops.draws import run_key

SMALL = {
    "random_walk": {"K": 5, "N": 9, "M": 9, "B": 20},
    "contextual_bigram": {"T": 8, "B": 16},
    "nearest_neighbor": {"B": 12, "M": 10},
    "group_sparse": {"n": 20, "m": 5},
    "low_rank": {"N": 40, "B": 8, "Nt": 30},
    "in_context_regression": {"D": 3, "N": 6, "P": 12},
    "task_diversity": {"d": 3, "l": 6, "n": 12, "k": 2},
    "causal_graph": {"S": 3, "T": 8, "P": 12},
    "attention_pruning": {"d": 6, "L": 7, "r": 2, "S": 2},
    "factual_recall": {"S": 3, "R": 2, "D": 3, "N": 4, "T": 5, "n": 2},
}


class Made:
    """A task's problem, a batch, and random outputs and attention maps of their shapes."""

    def __init__(self, name, seed=0, **settings):
        self.task = tasks.get(name)
        self.config = self.task.Config(**{**SMALL[name], **settings})
        self.problem = jax.jit(self.task.problem)(run_key(0, seed), self.config)
        self.batch = jax.jit(self.task.sample)(run_key(1, seed), self.problem, self.config)
        self.seed = seed

    def inputs(self, batch=None):
        return self.task.inputs(self.batch if batch is None else batch, self.problem, self.config)

    def outputs(self, batch=None):
        """The same random function of the place for every batch."""
        x = self.inputs(batch)
        return jax.random.normal(
            run_key(2, self.seed), (*x.shape[:2], self.task.outputs(self.config))
        )

    def maps(self, batch=None):
        x = self.inputs(batch)
        B, L = x.shape[:2]
        return jax.nn.softmax(jax.random.normal(run_key(3, self.seed), (2, B, 3, L, L)), axis=4)

    def loss(self, outputs=None, batch=None):
        batch = self.batch if batch is None else batch
        outputs = self.outputs(batch) if outputs is None else outputs
        return float(self.task.loss(outputs, batch, self.problem, self.config))

    def metrics(self, outputs=None, maps=None):
        metrics = self.task.metrics(
            outputs or self.outputs, maps or self.maps, self.problem, self.config
        )
        return {name: float(value) for name, value in metrics.items()}

    def optimal(self):
        optima = self.task.optimal(self.problem, self.config)
        return {name: float(value) for name, value in optima.items()}


def without_maps(batch):
    """A network that keeps no attention maps."""
    return None


def one_hot_maps(place, shape, heads=1):
    """One layer whose first head has all attention of every query on `place` (B,), the others on
    position 0.
    """
    B, L = shape
    first = jax.nn.one_hot(place, L)[:, None, None, :]
    sink = jax.nn.one_hot(jnp.zeros(B, int), L)[:, None, None, :]
    layer = jnp.concatenate([first] + [sink] * (heads - 1), axis=1)
    return jnp.broadcast_to(layer, (B, heads, L, L))[None]
