"""Wrong versions of attention_pruning: a term, an index, a transposition or a factor of size wrong.
Scalings are tried on every function without being listed.
"""

import jax
import jax.numpy as jnp
import numpy as np

ROOM = "jaxtheory.theories.attention_pruning"


def transposed(original):
    return lambda *args, **options: jax.tree.map(lambda x: x.T, original(*args, **options))


def without_regularization(original):
    return lambda params, batch, problem, config, *known: original(
        params, batch, problem, config.replace(regularization=0.0), *known
    )


def without_projection(original):
    """p_1 alone."""
    return lambda f, c: f * c


def without_residual_term(original):
    """The Hessian without the residual's own curvature (Gauss-Newton)."""
    return lambda f, c, s: original(f, 0 * c, s)


def one_mask_fixed(original):
    """The second mask does not move."""

    def along(params, direction, *rest):
        if hasattr(direction, "key"):
            direction = direction._replace(key=jnp.zeros_like(direction.key))
        return original(params, direction, *rest)

    return along


def one_iteration(original):
    """The growth of a random direction, in place of 30 iterations."""

    def norm(params, problem, config):
        from jaxtheory.theories.attention_pruning import calculus
        from jaxtheory.theories.attention_pruning.model import Batch

        v = jax.tree.map(lambda x: problem.uniform[2] - 0.5, params)
        Hv = calculus.hessian_vector_product(params, v, Batch(problem.inputs), problem, config)
        return calculus.norm(Hv) / calculus.norm(v)

    return norm


def of_dense_weights(original):
    """The saliency of M = 1 in place of the given mask."""
    return lambda mask, *rest: original(mask._replace(mask=jnp.ones_like(mask.mask)), *rest)


def without_momentum(original):
    return lambda key, t, state, batch, problem, config: original(
        key, t, state, batch, problem, config.replace(momentum=0.0)
    )


def without_clip(original):
    return lambda key, t, state, batch, problem, config: original(
        key, t, state, batch, problem, config.replace(clip=False)
    )


def of_given_step(original):
    """eta = c / lambda in place of 1 / L_g."""
    return lambda key, problem, config: original(key, problem, config)._replace(
        rate=config.step_scale / config.regularization
    )


def without_weights(original):
    """L_g of W = 1."""

    def init(key, problem, config):
        from jaxtheory.theories.attention_pruning import laws
        from jaxtheory.theories.attention_pruning.model import Batch

        ones = problem._replace(weights=jnp.ones_like(problem.weights))
        L_g = laws.lipschitz(Batch(problem.inputs), ones, config).gradient
        return original(key, problem, config)._replace(rate=1 / L_g)

    return init


def without_pull(original):
    """lambda M forgotten in the step."""
    return lambda *args: original(*args[:-1], args[-1].replace(regularization=0.0))


def one_more(original):
    return lambda ratio, n: original(ratio, n) + 1


def rounded_down(original):
    """floor(rho n) as floats give it: .29 of 100 becomes 28."""
    return lambda ratio, n: jnp.floor(ratio * jnp.asarray(n, float)).astype(int)


def largest_first(original):
    return lambda scores, *rest: original(-scores, *rest)


def last_tie_first(original):
    return lambda scores, ratio, valid: original(scores[::-1, ::-1], ratio, valid)[::-1, ::-1]


def not_normalized(original):
    return lambda f: f * f


def always_one(original):
    return lambda z, f_star, mask: jnp.ones((), z.dtype)


def whole_octaves(original):
    """Without the half octaves."""
    return lambda z, f_star, mask: 2 ** jnp.floor(jnp.log2(original(z, f_star, mask)))


def along_rows(original):
    return lambda weights, gram, config: original(weights.T, gram, config).T


def without_inputs(original):
    """All inputs of one norm."""
    return lambda weights, gram, config: original(weights, jnp.eye(len(gram)), config)


def without_update(original):
    return lambda weights, gram, config: jnp.where(original(weights, gram, config) == 0, 0, weights)


def without_damping(original):
    return lambda weights, gram, config: original(weights, gram, config, damping=1e-9)


def of_one_sequence(original):
    """The number of sequences forgotten."""
    return lambda *args: original(*args[:-1], args[-1].replace(num_sequences=1))


def of_longer(original):
    """n + 1 in place of n."""
    return lambda *args: original(*args[:-1], args[-1].replace(length=args[-1].length.cap + 1))


def without_mask_term(original):
    """lambda ||M|| forgotten."""
    return lambda params, c, batch, problem, config: original(
        params, c, batch, problem, config.replace(regularization=0.0)
    )


def of_inputs_alone(original):
    return lambda problem: original(problem._replace(weights=0 * problem.weights))


def of_weights_alone(original):
    return lambda problem: original(problem._replace(inputs=0 * problem.inputs))


def fourth_power(original):
    """R^4 in place of R^6."""
    return lambda radius, config: original(radius ** (2 / 3), config)


def half_range(original):
    """e^(-max|z|) / n: the smallest logit without the largest."""
    return lambda z, mask, config: original(z / 2, mask, config)


def hidden_too(original):
    return lambda f, mask: original(f, jnp.ones_like(mask))


def largest_gram(original):
    """The largest eigenvalue."""
    return lambda inputs, config: jnp.linalg.eigvalsh(
        inputs.reshape(-1, inputs.shape[-1]).T @ inputs.reshape(-1, inputs.shape[-1])
    )[-1]


def next_gram(original):
    """The second least eigenvalue."""

    def floor(inputs, config):
        Z = inputs.reshape(-1, inputs.shape[-1])
        return jnp.sort(jnp.linalg.eigvalsh(Z @ Z.T))[min(1, len(Z) - 1)]

    return floor


def largest_weight(original):
    return lambda problem, config: jnp.max(jnp.abs(problem.weights))


def without_floor(original):
    """xi with the wrong sign: the inequality without its slack."""

    def chain(delta, batch, problem, config):
        right = original(delta, batch, problem, config)
        return right._replace(xi=-right.xi)

    return chain


def mean_fourth(original):
    """(sum ||X||^2)^2 in place of sum ||X||^4."""

    def constants(batch, problem, config):
        right = original(batch, problem, config)
        squares = jnp.linalg.norm(batch.inputs, ord=2, axis=(1, 2)) ** 2
        wrong = jnp.sum(squares) / jnp.sqrt(jnp.sum(squares**2))
        return right._replace(attention=right.attention * wrong)

    return constants


def without_penalty(original):
    """L_attn(M_0) in place of L(M_0)."""
    return lambda params, batch, problem, config: original(
        params, batch, problem, config.replace(regularization=0.0)
    )


def square_time(original):
    return lambda t, *rest: original(jnp.asarray(t, float) ** 2, *rest)


def without_slack(original):
    return lambda t, start, mu, xi, config: original(t, start, mu, 0 * xi, config)


def other_root(original):
    """The other stationary point of the polynomial."""
    x = (15 + np.sqrt(33.0)) / 24
    return float(4 * x**2 * (1 - x) * (2 - 3 * x))


def mirrored(original):
    return lambda x: original(1 - x)


def _rows(file, functions):
    return [
        ("attention_pruning", f"{ROOM}.{file}", name, wrong)
        for name, several in functions.items()
        for wrong in several
    ]


ROWS = [
    *_rows(
        "calculus",
        {
            "logit_gradient": (without_projection,),
            "logit_hessian": (without_residual_term,),
            "gradient": (transposed, without_regularization),
            "hessian_vector_product": (transposed, one_mask_fixed),
            "saliency": (of_dense_weights,),
            "curvature_score": (transposed,),
            "hessian_norm": (one_iteration,),
        },
    ),
    *_rows(
        "training",
        {
            "step": (without_momentum, without_clip),
            "init_smooth": (of_given_step, without_weights),
            "smooth_step": (without_pull,),
        },
    ),
    *_rows(
        "analyses.pruning",
        {
            "count": (one_more, rounded_down),
            "binarize": (largest_first, last_tie_first),
            "doubled": (not_normalized,),
            "best_logit_factor": (always_one, whole_octaves),
        },
    ),
    *_rows(
        "analyses.baselines",
        {
            "wanda": (along_rows, without_inputs),
            "magnitude": (largest_first,),
            "sparsegpt": (without_update, without_damping),
        },
    ),
    *_rows(
        "laws",
        {
            "attention_norm": (of_one_sequence, of_longer),
            "residual_norm": (of_one_sequence, of_longer),
            "part_norm": (of_longer,),
            "gradient_norm": (without_mask_term, of_one_sequence),
            "radius": (of_inputs_alone, of_weights_alone),
            "smoothness": (fourth_power,),
            "log_attention_floor": (half_range, of_longer),
            "lipschitz": (mean_fourth, of_one_sequence),
            "SHARP_ROW_CURVATURE": (other_root,),
            "two_entry_curvature": (mirrored,),
            "smallest_attention": (hidden_too,),
            "gram_floor": (largest_gram, next_gram),
            "smallest_weight": (largest_weight,),
            "chain": (without_floor, of_one_sequence),
            "descent": (without_penalty,),
            "convergence": (square_time, without_slack),
        },
    ),
]

EXPLAINED = {}

# an edit of the source: module, function, edit
KNOWN = [
    ("laws", "residual_norm", "jnp.sqrt(2.0) * attention_norm(config) -> attention_norm(config)")
]
