"""Problems of attention_pruning drawn with NumPy, which compiles nothing."""

import jax
import numpy as np

from jaxtheory.theories.attention_pruning import THEORY, Config, data, model
from jaxtheory.theories.attention_pruning.model import Problem


def drawn(config: Config, seed: int = 0) -> Problem:
    """As `data.problem`: N(0, 1) inputs and best rank-r approximations of N(0, 1) matrices."""
    rng = np.random.default_rng(seed)
    d, L, S = config.dimension.cap, config.length.cap, config.num_sequences.cap
    U, spectrum, Vh = np.linalg.svd(rng.normal(size=(2, d, d)))
    spectrum = spectrum * (np.arange(d) < config.rank) * np.sqrt(config.logit_scale / 100)
    W_Q, W_K = (U * spectrum[:, None]) @ Vh
    mask = np.asarray(data.attention_mask(config))
    arrays = (
        rng.normal(size=(S, L, d)),
        rng.normal(size=(data.HELDOUT, L, d)),
        W_Q,
        W_K,
        W_Q @ W_K.T,
        mask,
        rng.uniform(size=(3, d, d)),
    )
    dtype = np.dtype(jax.numpy.result_type(float))
    return Problem(*(jax.numpy.asarray(x if x.dtype == bool else x.astype(dtype)) for x in arrays))


def train(
    problem: Problem, config: Config, steps: int, algorithm: str = "gradient_descent"
) -> model.Params:
    """The parameters after some steps."""
    alg = THEORY.algorithms[algorithm]

    def run(problem: Problem, config: Config) -> model.Params:
        key = jax.random.key(0)  # full batch: nothing is drawn
        state = alg.init(key, problem, config)
        batch = THEORY.sample(key, problem, config)
        state = jax.lax.fori_loop(
            0, steps, lambda t, s: alg.step(key, t, s, batch, problem, config), state
        )
        return alg.params(state, problem, config)

    return jax.jit(run)(problem, config)
