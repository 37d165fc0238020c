"""What one looks at along and after training, and what the theory says of it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.theories.attention_pruning import baselines as methods
from jaxtheory.theories.attention_pruning import bounds, calculus, model, pruning
from jaxtheory.theories.attention_pruning.model import Batch, Config, FusedMask, Params, Problem

POWER_ITERATIONS = 30
DIMS: dict[str, tuple[str, ...]] = {
    "relative_error": ("method",),
    "relative_error_heldout": ("method",),
    "relative_error_rescaled": ("method",),
    "relative_error_rescaled_heldout": ("method",),
    "logit_factor": ("method",),
    "bound_ratio": ("bound",),
}
BOUNDS = ("lipschitz", "gradient_norm", "smallest_attention", "gram_floor", "smallest_weight", "chain")


def coords(config: Config) -> dict[str, tuple[str, ...]]:
    """The fitted mask first, then the baselines; the bounds of `bound_ratio`."""
    return {"method": ("gradient", *methods.METHODS), "bound": BOUNDS}


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Errors after binarising at pruning_ratio, on calibration and held-out sequences, shape (1,); loss, L_attn and norms of the mask."""
    batch = Batch(problem.inputs)
    residual = model.forward(params, batch, problem, config) - model.target(batch, problem, config)
    gradient = calculus.gradient(params, batch, problem, config)
    attention_loss = jnp.sum(residual**2) / (2 * config.num_sequences.real)
    squared = sum(jnp.sum(mask**2) for mask in params)
    return {
        **plain_errors(pruning.pruned_weights(params, problem, config)[None], problem, config),
        "loss": attention_loss + config.regularization / 2 * squared,
        "attention_loss": attention_loss,
        "gradient_norm": norm(gradient),
        "mask_norm": jnp.sqrt(squared),
        "mask_maximum": jnp.max(jnp.stack([jnp.max(jnp.abs(mask)) for mask in params])),
    }


def baselines(problem: Problem, config: Config) -> dict[str, Float[Array, " method"]]:
    """The errors of the methods of `baselines.METHODS`, plain and rescaled."""
    weights = methods.pruned(problem, config)
    return {**plain_errors(weights, problem, config), **rescaled_errors(weights, problem, config)}


def analyses(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Of the final mask: rescaled errors, curvature against the stability edge, and how tight each bound is.

    stability_ratio = eta ||Hessian|| / (2 (1 + beta)): gradient descent with momentum is unstable above 1 (left arm of figure 2a).
    bound_ratio in [0, 1]: measured / bound for upper bounds, bound / measured for lower ones; 1 is tight, NaN for two masks.
    """
    curvature = hessian_norm(params, problem, config)
    edge = 2 * (1 + config.momentum) * config.regularization / config.step_scale
    return {
        **rescaled_errors(pruning.pruned_weights(params, problem, config)[None], problem, config),
        "hessian_norm": curvature,
        "stability_ratio": curvature / edge,
        "bound_ratio": bound_ratio(params, curvature, problem, config),
        "saturation": saturation(problem, config),
    }


def plain_errors(weights: Float[Array, "method d d"], problem: Problem, config: Config) -> dict[str, Float[Array, " method"]]:
    """Relative errors of pruned weights on calibration and held-out sequences."""
    both = {"relative_error": calibration(problem, config), "relative_error_heldout": heldout(problem)}
    return {name: jax.vmap(lambda w: pruning.error(w, *data))(weights) for name, data in both.items()}  # noqa: B023


def rescaled_errors(weights: Float[Array, "method d d"], problem: Problem, config: Config) -> dict[str, Float[Array, " method"]]:
    """Relative errors at the logit factor that is best on the calibration sequences, and that factor."""
    inputs, f_star, mask = calibration(problem, config)

    def one(w: Float[Array, "d d"]) -> tuple[Array, Array, Array]:
        alpha = pruning.best_logit_factor(model.logits(w, inputs), f_star, mask)
        return pruning.error(alpha * w, inputs, f_star, mask), pruning.error(alpha * w, *heldout(problem)), alpha

    return dict(zip(("relative_error_rescaled", "relative_error_rescaled_heldout", "logit_factor"), jax.vmap(one)(weights), strict=True))


def calibration(problem: Problem, config: Config) -> tuple[Array, Array, Array]:
    """Inputs, target attention and attention mask of the calibration sequences."""
    return problem.inputs, model.target(Batch(problem.inputs), problem, config), model.support(problem, config)


def heldout(problem: Problem) -> tuple[Array, Array, Array]:
    """The same of the held-out sequences."""
    mask = jnp.broadcast_to(problem.attention_mask, (model.HELDOUT, *problem.attention_mask.shape))
    return problem.heldout, model.attention(problem.weights, problem.heldout, mask), mask


def norm(params: Params) -> Float[Array, ""]:
    """Frobenius norm over all masks."""
    return jnp.sqrt(sum(jnp.sum(mask**2) for mask in params))


def hessian_norm(params: Params, problem: Problem, config: Config) -> Float[Array, ""]:
    """||Hessian of the loss||_2 from below, by 30 power iterations on Hessian-vector products."""

    def iterate(_: int, carry: tuple[Params, Array]) -> tuple[Params, Array]:
        Hv = calculus.hessian_vector_product(params, carry[0], Batch(problem.inputs), problem, config)
        length = norm(Hv)
        return jax.tree.map(lambda x: x / length, Hv), length

    valid = model.entries(config)
    v = jax.tree.map(lambda x: jnp.where(valid, problem.uniform[2] - 0.5, 0), params)
    v = jax.tree.map(lambda x: x / norm(v), v)
    return jax.lax.fori_loop(0, POWER_ITERATIONS, iterate, (v, jnp.zeros_like(norm(v))))[1]


def saturation(problem: Problem, config: Config) -> Float[Array, ""]:
    """Mean over the rows of the dense attention of their largest entry, in (0, 1]; near 1 where attention is one-hot."""
    _, f_star, _ = calibration(problem, config)
    return jnp.sum(jnp.max(f_star, axis=-1)) / (config.num_sequences.real * config.length.real)


def bound_ratio(params: Params, curvature: Float[Array, ""], problem: Problem, config: Config) -> Float[Array, " bound"]:
    """Tightness of each bound of BOUNDS at the given mask; 0 where a lower bound is vacuous."""
    if not isinstance(params, FusedMask):
        return jnp.full((len(BOUNDS),), jnp.nan, curvature.dtype)
    batch = Batch(problem.inputs)
    f, f_star, mask = model.forward(params, batch, problem, config), model.target(batch, problem, config), model.support(problem, config)
    c = f - f_star
    p = calculus.logit_gradient(f, c)
    B = calculus.outer_sum(p, batch.inputs)
    pull = norm(FusedMask(problem.weights * B)) / config.num_sequences.real
    size = lambda x: jnp.sqrt(jnp.sum(x**2))
    delta = bounds.smallest_attention(f, mask)
    pairs = (
        (curvature, bounds.lipschitz(batch, problem, config).gradient),
        (norm(calculus.gradient(params, batch, problem, config)), bounds.gradient_norm(params, c, batch, problem, config)),
        (delta * size(c), size(p)),
        (bounds.gram_floor(batch.inputs, config) * size(p), size(B)),
        (bounds.smallest_weight(problem, config) * size(B), size(problem.weights * B)),
        (bounds.chain(delta, batch, problem, config).slope * size(c), pull),
    )
    return jnp.stack([low / jnp.where(high > 0, high, 1) for low, high in pairs])


def predict(problem: Problem, config: Config, steps: Int[Array, " t"]) -> dict[str, Float[Array, " t"]]:
    """Curves, constant in t, for a fused mask.

    attention_loss:descent is L(M_0) >= L_attn(M_t) under monotone descent (lambda d^2/2 from ones);
    relative_error:large_lambda the error of the one-shot score that the fitted mask tends to as lambda grows (right arm of figure 2a);
    relative_error:curvature the error of the one-shot diagonal Gauss-Newton score at M = 1.
    """
    batch = Batch(problem.inputs)
    start = FusedMask(model.initial_mask(problem.uniform[0], config))
    saliency = calculus.saliency(FusedMask(jnp.zeros_like(problem.weights)), batch, problem, config)
    score = calculus.curvature_score(batch, problem, config)
    by_score = pruning.keep(problem.weights, pruning.binarise(score, config.pruning_ratio, model.entries(config)))
    errors = plain_errors(jnp.stack([pruning.pruned_weights(saliency, problem, config), by_score]), problem, config)
    curves = {"attention_loss:descent": bounds.descent(start, batch, problem, config)}
    for name, (large_lambda, curvature) in errors.items():
        curves |= {f"{name}:large_lambda": large_lambda, f"{name}:curvature": curvature}
    return {name: jnp.broadcast_to(value, jnp.shape(steps)) for name, value in curves.items()}


def assumptions(problem: Problem, config: Config) -> dict[str, tuple[Array, Array]]:
    """The conditions of theorem 4.1 and of a stable step: (holds, margin); a margin is positive where the condition holds."""
    batch, mask = Batch(problem.inputs), model.support(problem, config)
    start = FusedMask(model.initial_mask(problem.uniform[0], config))
    z = model.logits(model.masked_weights(start, problem), batch.inputs)
    floor = bounds.gram_floor(batch.inputs, config)
    log_attention = jnp.min(jnp.where(mask, jax.nn.log_softmax(jnp.where(mask, z, -jnp.inf), axis=-1), 0))
    eta = config.step_scale / config.regularization
    margins = {
        "X X^T >= beta I, margin beta (needs S L <= d)": floor,
        "attention bounded below, margin log(delta / smallest float)": log_attention - jnp.log(jnp.finfo(z.dtype).tiny),
        "eta <= 1/L_g, margin log(1 / (eta L_g))": -jnp.log(eta * bounds.lipschitz(batch, problem, config).gradient),
        "eta below the stability edge at M_0, margin log(2 (1 + beta) / (eta ||H||))": jnp.log(
            2 * (1 + config.momentum) / (eta * hessian_norm(start, problem, config))
        ),
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
