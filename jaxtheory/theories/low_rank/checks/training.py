"""Checks of the algorithms."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.low_rank import calculus, model, training
from jaxtheory.theories.low_rank.checks import material
from jaxtheory.theories.low_rank.model import Config, Params


@check("gradient: sgd descends along it", f"{material.PAPER}, equation (5)", "equal")
def sgd_descends(key: Array, config: Config) -> Compared:
    """A step in all four matrices at rate eta, on the first two examples."""
    if config.num_layers > 1 or config.task == "multiclass":
        return None
    params, batch, problem = material.setting(key, config)
    sgd = training.ALGORITHMS["sgd"]
    state = sgd.init(key, problem, config)._replace(params=params)
    new = sgd.step(key, jnp.int32(0), state, batch, problem, config).params
    g = calculus.gradient(params, batch, problem, config)
    return new, Params(*(w - config.learning_rate * dw for w, dw in zip(params, g, strict=True)))


@check("init_lora: starts at W(0)", "LoRA, arXiv 2106.09685", "sample")
def lora_start(key: Array, config: Config) -> Compared:
    """LoRA begins at W(0), and its A has columns of mean square r / columns.

    Checked on the second and fourth example.
    """
    if (material.plain(config) and config.num_layers == 1) or config.task == "multiclass":
        return None
    _, _, problem = material.setting(key, config)
    state = training.init_lora(key, problem, config)
    down_factors = jax.vmap(lambda k: training.init_lora(k, problem, config).down)(
        jax.random.split(key, material.BATCHES)
    )
    squares = [x.reshape(material.BATCHES, -1) ** 2 * x.shape[-1] for x in down_factors]
    squares.append(jnp.concatenate(squares, axis=1).reshape(-1, 1))  # all of them together
    zero = jax.tree.map(jnp.zeros_like, model.initial(problem, config))
    return (
        (
            training.merged(state, problem, config),
            jax.tree.map(lambda x: jnp.mean(x, axis=0), squares),
        ),
        (model.initial(problem, config), jax.tree.map(lambda x: jnp.ones(x.shape[1]), squares)),
        (zero, jax.tree.map(lambda x: jnp.std(x, axis=0) / len(x) ** 0.5, squares)),
    )


@check("lora_step: descent in the factors", "LoRA, arXiv 2106.09685", "equal")
def lora_descends(key: Array, config: Config) -> Compared:
    """One step of LoRA from factors away from zero.

    The gradient in W(0) + B A is pulled back to the factors by autodiff. Checked on the first and
    fourth example.
    """
    if config.task == "multiclass" or config.output == "per_token":
        return None
    _, batch, problem = material.setting(key, config)
    state = training.init_lora(key, problem, config)
    up = jax.tree.map(lambda b: 0.5 * jax.random.normal(key, b.shape), state.up)
    state = state._replace(up=up)
    start = model.initial(problem, config)

    def sums(factors: training.Factors) -> Params:
        added = lambda W, B, A: W + jnp.einsum("...ir,...rj->...ij", B, A)
        return jax.tree.map(added, start, *factors)

    params, pull = jax.vjp(sums, state)
    (slope,) = pull(calculus.gradient(params, batch, problem, config))
    want = jax.tree.map(lambda w, g: w - config.learning_rate * g, state, slope)
    new = training.lora_step(key, jnp.int32(0), state, batch, problem, config)
    return new, want
