"""A small Llama on the standard library's sources: trained once, kept as a checkpoint folder.

743 thousand parameters (vocabulary 128, d = 128, 4 layers, H = 4, G = 2, e = 32, m = 344, tied
embedding); AdamW, learning rate 3e-3 with cosine decay to 0 after a warm-up of 5 %, weight decay
0.1 on matrices, gradients clipped to norm 1; 16 windows of 128 tokens a step.
"""

import time
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxtheory import llama
from jaxtheory.llama import Config, Weights

from ._corpus import VOCABULARY, corpus

CONFIG = Config(
    vocab_size=VOCABULARY,
    hidden_size=128,
    intermediate_size=344,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    tie_word_embeddings=True,
)
BATCH, LENGTH, RATE = 16, 128, 3e-3
AT_ONCE = 25  # steps of one call, after which the state may be kept


def optimizer(steps: int) -> optax.GradientTransformation:
    """AdamW with its schedule."""
    rate = optax.warmup_cosine_decay_schedule(0.0, RATE, max(1, steps // 20), steps)
    matrices = partial(jax.tree.map, lambda w: w.ndim > 1)
    return optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.1, mask=matrices)
    )


@partial(jax.jit, static_argnames="steps")
def advance(state: Any, windows: jax.Array, steps: int) -> Any:
    """One optimizer step per batch of windows (calls, BATCH, LENGTH)."""

    def step(state: Any, tokens: jax.Array) -> tuple[Any, jax.Array]:
        weights, optimizer_state = state
        loss, gradient = jax.value_and_grad(llama.loss)(weights, tokens, CONFIG)
        update, optimizer_state = optimizer(steps).update(gradient, optimizer_state, weights)
        return (optax.apply_updates(weights, update), optimizer_state), loss

    return jax.lax.scan(step, state, windows)


def trained(folder: Path, steps: int, progress: Any = None) -> tuple[Weights, Config]:
    """The model after `steps` steps, from its checkpoint in `folder` if it is there.

    A training that was stopped goes on. The name of the checkpoint carries corpus and steps.
    """
    stream = corpus().train
    mark = zlib.crc32(stream.tobytes(), zlib.crc32(repr(CONFIG).encode()))
    place = folder / f"llama-{steps}-{mark:08x}"
    state_file = place.with_suffix(".training")
    model = llama.cached(place, lambda: (train(stream, state_file, steps, progress), CONFIG))
    state_file.unlink(missing_ok=True)
    return model


def train(stream: np.ndarray, checkpoint: Path, steps: int, progress: Any) -> Weights:
    """The weights after `steps` steps; the state is kept in a file, from which it goes on."""
    weights = llama.init(jax.random.key(0), CONFIG)
    state = (weights, optimizer(steps).init(weights))
    begun, state = opened(checkpoint, state)
    start = time.perf_counter()
    for t in range(begun, steps, AT_ONCE):
        random = np.random.default_rng([1, t])
        starts = random.integers(0, len(stream) - LENGTH, (min(AT_ONCE, steps - t), BATCH, 1))
        state, losses = advance(state, jnp.asarray(stream[starts + np.arange(LENGTH)]), steps)
        done = t + len(losses)
        if progress is not None:
            remaining = (time.perf_counter() - start) / (done - begun) * (steps - done)
            progress("training", done, steps, remaining)
        part = checkpoint.with_suffix(".part")
        with part.open("wb") as file:
            np.savez(file, np.asarray(done), *jax.device_get(jax.tree.leaves(state)))
        part.replace(checkpoint)
    return state[0]


def opened(checkpoint: Path, start: Any) -> tuple[int, Any]:
    """Steps made, and the state after them, from the file that `train` keeps.

    0 and the start where there is none, or a damaged one.
    """
    leaves, tree = jax.tree.flatten(start)
    try:
        with np.load(checkpoint) as file:
            done, *arrays = (file[name] for name in file.files)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return 0, start
    if [np.shape(x) for x in arrays] != [np.shape(x) for x in leaves]:
        return 0, start
    return int(done), jax.tree.unflatten(tree, arrays)
