"""Metrics along training, analyses of the final mask, baselines, and the theory's bounds."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.theories.attention_pruning import calculus, laws, model
from jaxtheory.theories.attention_pruning.analyses import baselines as others
from jaxtheory.theories.attention_pruning.analyses import pruning
from jaxtheory.theories.attention_pruning.model import Batch, Config, FusedMask, Params, Problem

ERRORS = (
    "relative_error",
    "relative_error_heldout",
    "relative_error_rescaled",
    "relative_error_rescaled_heldout",
    "logit_factor",
)
DIMS: dict[str, tuple[str, ...]] = {**dict.fromkeys(ERRORS, ("pruner",)), "bound_ratio": ("bound",)}


def coords(config: Config) -> dict[str, tuple[str, ...]]:
    """Return the labels of the dimensions.

    They are the fitted mask first, then the baselines; and the bounds of `bound_ratio`.
    """
    return {"pruner": ("gradient", *others.PRUNERS), "bound": laws.BOUNDS}


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Return the metrics of the mask along training. The errors have shape (1,).

    relative_error          ||f - f*|| / ||f*|| after binarizing at pruning_ratio, on the
                            calibration sequences
    relative_error_heldout  the same on the held-out sequences
    loss                    L_attn + lambda/2 ||M||^2
    attention_loss          L_attn of the mask as it is
    gradient_norm           norm of the gradient of the loss
    mask_norm               ||M||
    mask_maximum            largest |M_ij|
    """
    batch = Batch(problem.inputs)
    weights = pruning.pruned_weights(params, problem, config)
    attention_loss = model.attention_loss(params, batch, problem, config)
    squared = sum(jnp.sum(mask**2) for mask in params)
    return {
        **pruning.plain_errors(weights[None], problem, config),
        "loss": attention_loss + config.regularization / 2 * squared,
        "attention_loss": attention_loss,
        "gradient_norm": calculus.norm(calculus.gradient(params, batch, problem, config)),
        "mask_norm": jnp.sqrt(squared),
        "mask_maximum": jnp.max(jnp.stack([jnp.max(jnp.abs(mask)) for mask in params])),
    }


def baselines(problem: Problem, config: Config) -> dict[str, Float[Array, " pruner"]]:
    """Return the errors of `baselines.PRUNERS`, plain and rescaled."""
    weights = others.pruned(problem, config)
    return {
        **pruning.plain_errors(weights, problem, config),
        **pruning.rescaled_errors(weights, problem, config),
    }


def analyses(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Return the analyses of the final mask.

    They are rescaled errors, curvature compared with the stability edge, and the tightness of each
    bound.

    relative_error_rescaled          relative_error with the logits times logit_factor
    relative_error_rescaled_heldout  the same on the held-out sequences
    logit_factor                     the factor on the pruned logits that fits best
    hessian_norm                     ||Hessian of the loss||_2, from below by power iterations
    stability_ratio                  eta ||Hessian|| / (2 (1 + beta)): gradient descent with
                                     momentum is unstable above 1 (left arm of figure 2a)
    bound_ratio                      in [0, 1]: measured / bound for upper bounds, bound / measured
                                     for lower ones; 1 is tight, NaN for two masks
    saturation                       in (0, 1]: mean over the rows of the dense attention of their
                                     largest entry; near 1 where attention is one-hot
    """
    curvature = calculus.hessian_norm(params, problem, config)
    edge = 2 * (1 + config.momentum) * config.regularization / config.step_scale
    weights = pruning.pruned_weights(params, problem, config)
    f_star = model.target(Batch(problem.inputs), problem, config)
    rows = config.num_sequences.real * config.length.real
    return {
        **pruning.rescaled_errors(weights[None], problem, config),
        "hessian_norm": curvature,
        "stability_ratio": curvature / edge,
        "bound_ratio": laws.bound_ratio(params, curvature, problem, config),
        "saturation": jnp.sum(jnp.max(f_star, axis=-1)) / rows,
    }


def predict(
    problem: Problem, config: Config, steps: Int[np.ndarray, " t"]
) -> dict[str, Float[Array, " t"]]:
    """Return the theory's curves, constant in t, for a fused mask.

    attention_loss: descent                               L(M_0) >= L_attn(M_t) under monotone
                                                          descent (lambda d^2/2 from ones)
    relative_error, relative_error_heldout: large_lambda  the error of the one-shot score that the
                                                          fitted mask tends to as lambda grows
                                                          (right arm of figure 2a)
    relative_error, relative_error_heldout: curvature     the error of the one-shot diagonal
                                                          Gauss-Newton score at M = 1
    """
    batch = Batch(problem.inputs)
    start = FusedMask(model.initial_mask(problem.uniform[0], config))
    saliency = calculus.saliency(FusedMask(jnp.zeros_like(problem.weights)), batch, problem, config)
    score = calculus.curvature_score(batch, problem, config)
    by_score = pruning.prune(problem.weights, score, config)
    errors = pruning.plain_errors(
        jnp.stack([pruning.pruned_weights(saliency, problem, config), by_score]), problem, config
    )
    curves = {"attention_loss:descent": laws.descent(start, batch, problem, config)}
    for name, (large_lambda, curvature) in errors.items():
        curves |= {f"{name}:large_lambda": large_lambda, f"{name}:curvature": curvature}
    return {name: jnp.broadcast_to(value, jnp.shape(steps)) for name, value in curves.items()}


def assumptions(problem: Problem, config: Config) -> dict[str, tuple[Array, Array]]:
    """Return the conditions of theorem 4.1 and of a stable step as (holds, margin).

    A margin is positive where the condition holds.
    """
    batch, mask = Batch(problem.inputs), model.support(problem, config)
    start = FusedMask(model.initial_mask(problem.uniform[0], config))
    z = model.logits(model.masked_weights(start, problem), batch.inputs)
    floor = laws.gram_floor(batch.inputs, config)
    log_attention = jnp.min(
        jnp.where(mask, jax.nn.log_softmax(jnp.where(mask, z, -jnp.inf), axis=-1), 0)
    )
    eta = config.step_scale / config.regularization
    margins = {
        "X X^T >= beta I, margin beta (needs S L <= d)": floor,
        "attention bounded below, margin log(delta / smallest float)": log_attention
        - jnp.log(jnp.finfo(z.dtype).tiny),
        "eta <= 1/L_g, margin log(1 / (eta L_g))": -jnp.log(
            eta * laws.lipschitz(batch, problem, config).gradient
        ),
        "eta below the stability edge at M_0, margin log(2 (1 + beta) / (eta ||H||))": jnp.log(
            2 * (1 + config.momentum) / (eta * calculus.hessian_norm(start, problem, config))
        ),
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
