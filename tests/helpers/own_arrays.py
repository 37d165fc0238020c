"""Arrays that a researcher would have, and what `given` makes of them."""

import jax
import jax.numpy as jnp

import jaxtheory
from jaxtheory.theories import get
from jaxtheory.theories.causal_graph import data as chains
from jaxtheory.theories.in_context_regression import data
from jaxtheory.theories.task_diversity import data as diversity

KEY = jaxtheory.run_key(3, 0)

SMALL = {
    "random_walk": {"num_sequences": 9, "length": 7, "encoding_dim": 11},
    "attention_pruning": {"dimension": 5, "length": 6, "num_sequences": 3, "rank": 2},
    "contextual_bigram": {"length": 9, "batch_size": 8},
    "nearest_neighbor": {"num_prompts": 9, "num_test": 7, "labels": "gaussian"},
    "group_sparse": {"num_samples": 9, "group_dim": 3, "num_groups": 4},
    "low_rank": {"num_samples": 12, "num_test": 10, "num_neurons": 7, "batch_size": 5},
    "in_context_regression": {"dimension": 3, "length": 5, "heads": 2, "num_prompts": 6},
    "causal_graph": {"num_states": 3, "length": 6, "num_prompts": 7},
    "task_diversity": {"dimension": 3, "length": 5, "num_prompts": 6, "num_tasks": 2},
    "factual_recall": {"num_subjects": 3, "num_relations": 2, "num_answers": 2, "num_noise": 3},
    "positional_semantic": {"dimension": 3, "num_samples": 5},
}


def arrays_of(name, problem, batch, params):
    """The arrays of a theory's problem that a researcher would have, by name, and settings."""
    p, train = problem, getattr(problem, "train", None)
    if name == "random_walk":
        unpack = lambda s, y, kind="": {f"{kind}sequences": s[:, :-1], f"{kind}labels": y}
        return unpack(train.s, train.y) | unpack(p.test.s, p.test.y, "test_"), {"M": 11, "K": 6}
    if name == "attention_pruning":
        arrays = {"inputs": p.inputs, "query": p.query, "key": p.key, "heldout": p.heldout}
        return arrays | {"attends": p.attention_mask}, {"rank": 2}
    if name == "contextual_bigram":
        tokens = batch.tokens.astype(int)
        samples = {"tokens": tokens, "query": batch.query, "labels": batch.label}
        return samples | {"transition": p.transition, "context": p.context}, {}
    if name == "nearest_neighbor":
        unpack = lambda b, kind="": dict(
            zip(
                (kind + "examples", kind + "queries", kind + "labels"), (b.x, b.q, b.y), strict=True
            )
        )
        return unpack(train) | unpack(p.test, "test_"), {}
    if name == "group_sparse":
        unpack = lambda b, kind="": {
            f"{kind}features": jnp.moveaxis(b.x, 2, 0),
            f"{kind}labels": b.y,
        }
        return unpack(train) | unpack(p.test, "test_") | {"truth": p.truth}, {}
    if name == "in_context_regression":
        words = "examples", "labels", "queries", "query_labels"
        drawn, test, _ = data.raw(KEY, get(name).Config(**SMALL[name]))
        return dict(zip(words, drawn[:4], strict=True)) | {"test": test[:4]}, {"heads": 2}
    if name == "causal_graph":
        p, drawn, test = chains.raw(KEY, get(name).Config(**SMALL[name]))
        own = {"tokens": drawn.s, "transitions": drawn.pi, "parents": p}
        return own | {"test": tuple(test)}, {}
    if name == "task_diversity":
        words = "examples", "labels", "queries", "query_labels"
        drawn, tasks = diversity.raw(KEY, get(name).Config(**SMALL[name]))
        return dict(zip(words, drawn, strict=True)) | {"tasks": tasks}, {}
    if name == "factual_recall":
        counts = {"counts": train.counts, "test_counts": p.test.counts}
        return {"facts": train.answer} | counts, {"num_answers": 2}
    if name == "positional_semantic":
        samples = {"tokens": jnp.moveaxis(train.x, 0, 1), "targets": train.target.T}
        return samples | {"position": p.position, "direction": p.direction}, {}
    start = dict(zip(params._fields, params, strict=True))
    unpack = lambda b, kind="": {
        f"{kind}tokens": b.tokens,
        f"{kind}labels": b.label,
        f"{kind}pattern": b.pattern,
    }
    patterns = {"patterns": p.patterns, "signs": p.signs}
    settings = {"nrel": 9, "nconf": 3, "per": 1, "batch_size": 5}
    return unpack(train) | unpack(p.test, "test_") | start | patterns, settings


def own(name, **changes):
    """A theory's problem, batch and parameters, and what `given` makes of its arrays."""
    theory = get(name)
    config = theory.Config(**SMALL[name])
    problem = jax.jit(theory.problem)(KEY, config)
    batch = getattr(problem, "train", None) or jax.jit(theory.sample)(KEY, problem, config)
    params = start = jax.jit(theory.init)(KEY, problem, config)
    params = jax.tree.map(lambda x: x + 0.1 * jnp.cos(jnp.arange(x.size)).reshape(x.shape), params)
    arrays, settings = arrays_of(name, problem, batch, start)
    if name == "low_rank" and "patterns" in changes:
        settings = {}
    drop = [key for key, value in changes.items() if value is None]
    arrays = {key: value for key, value in (arrays | changes).items() if key not in drop}
    return theory, (params, batch, problem, config), theory.given(**arrays, **settings)
