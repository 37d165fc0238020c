"""Metrics along training, and the theory's curves and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.ops import linalg
from jaxtheory.theories.group_sparse import calculus, data, laws, model
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem, Tuned


def accuracy(f: Float[Array, " n"], batch: Batch) -> Float[Array, ""]:
    """The total weight of the samples with y = sign f, where sign(0) = +1."""
    return jnp.sum(jnp.where((f >= 0) == (batch.y > 0), batch.weight, 0))


def selection(
    params: Params | Linear, x: Float[Array, "d D n"], config: Config
) -> Float[Array, "D n"]:
    """S_{j* j} of every query and sample, NaN for padded queries.

    For a linear predictor it is the share of |beta|^2 in group j*, and 1/D at 0.
    """
    D = config.num_groups
    if isinstance(params, Linear):
        weight = jnp.sum(params.beta**2, axis=0)
        total = jnp.sum(weight)
        share = jnp.where(
            total > 0, linalg.quotient(weight @ model.relevant(config), total), 1 / D.real
        )
        selected = jnp.broadcast_to(share, (D.cap, x.shape[2]))
    else:
        selected = jnp.sum(
            model.attend(params, x, config) * model.relevant(config)[:, None, None], axis=0
        )
    return jnp.where(D.mask()[:, None], selected, jnp.nan)


def value(params: Params | Linear, config: Config) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """The weights on features, and the squared norm of the rest.

    They are v1 and |v2|^2, or beta_{j*} and the squared norm of the other groups.
    """
    if isinstance(params, Linear):
        own = params.beta @ model.relevant(config)
        return own, jnp.sum(params.beta**2) - jnp.sum(own**2)
    return params.v1, jnp.sum(params.v2**2)


def task(
    params: Params | Tuned | Linear, problem: Problem, config: Config
) -> tuple[Batch, Batch, Float[Array, " d"]]:
    """Training set, test set and direction of the task that the parameters are for.

    The direction is v* for the pre-trained layer, v~ for the others.
    """
    if isinstance(params, Params):
        return problem.train, problem.test, problem.truth
    train, test = (
        data.moved(batch, problem, config)
        for batch in (problem.downstream, problem.downstream_test)
    )
    return train, test, problem.downstream_truth


def metrics(params: Params | Tuned | Linear, problem: Problem, config: Config) -> dict:
    """Return the metrics on the task that the parameters are for.

    It is the pre-training task for `gd` and `population`, the downstream task for the others.

    loss                      logistic loss on the training set
    test_loss                 logistic loss on 1000 test samples
    accuracy                  share of 1000 test samples whose label has the sign of f
    value_norm                |v1|
    value_cosine              cosine of v1 with the task's direction, 0 at v = 0
    value_norm_ratio          |v1| / |v|, 0 at v = 0
    relevant_attention        mean over test samples and queries j of S_{j* j}
    relevant_attention_min    mean over test samples of the smallest S_{j* j} over j
    relevant_attention_worst  the smallest S_{j* j} over test samples and j
    fit_attention             mean of S_{j* j} on the training set
    feature_attention         v*^T W11 v*
    feature_attention_rest    the mean of W11 orthogonally to v*
    off_structure             share of |W|^2 outside the six-number form, 0 at W = 0

    A linear predictor beta counts as v1 = beta_{j*} and the rest; its attention is the share of
    |beta|^2 in group j*, W = 0.
    """
    train, test, truth = task(params, problem, config)
    model.fit(params, test, config)
    layer = params.layer if isinstance(params, Tuned) else params
    f = model.output(layer, test.x, config)
    v1, other_square = value(layer, config)
    norm = jnp.sqrt(jnp.sum(v1**2))
    S = selection(layer, test.x, config)
    least = jnp.nanmin(S, axis=0)
    zero = jnp.zeros_like(norm)
    a, b, off = (
        (zero, zero, zero) if isinstance(layer, Linear) else structure(layer, problem, config)
    )
    return {
        "loss": model.loss(layer, train, problem, config),
        "test_loss": model.loss(layer, test, problem, config),
        "accuracy": accuracy(f, test),
        "value_norm": norm,
        "value_cosine": linalg.unit(v1) @ truth,
        "value_norm_ratio": linalg.quotient(norm, jnp.sqrt(norm**2 + other_square)),
        "relevant_attention": jnp.nanmean(S),
        "relevant_attention_min": jnp.mean(least),
        "relevant_attention_worst": jnp.min(least),
        "fit_attention": jnp.sum(
            jnp.nanmean(selection(layer, train.x, config), axis=0) * train.weight
        ),
        "feature_attention": a,
        "feature_attention_rest": b,
        "off_structure": off,
    }


def structure(
    params: Params, problem: Problem, config: Config
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """a, b and |W - W'|^2 / |W|^2, where W' is the nearest W of the population's form."""
    reduced = calculus.project(params, problem, config)
    near = calculus.embed(reduced, problem, config)
    blocks = [getattr(params, name) for name in ("W11", "W12", "W21", "W22")]
    squares = lambda arrays: jnp.sum(jnp.stack([jnp.sum(x**2) for x in arrays]))
    off = squares([x - y for x, y in zip(blocks, near[2:], strict=True)])
    return reduced.a, reduced.b, linalg.quotient(off, squares(blocks))


def predict(_problem: Problem, config: Config, steps: Int[Array | np.ndarray, " T"]) -> dict:
    """Return the theory's curves for pre-training on the population with attention on j* alone.

    loss, value_norm: rate       the power laws in t (NaN at t = 0), constants included
    loss, value_norm: selected   descent on L(c) from 0
    """
    times = np.asarray(steps)
    c, L = laws.selected_run(config, int(times.max(initial=0)) + 1)
    t = jnp.where(times > 0, jnp.asarray(times, float), jnp.nan)
    return {
        "loss:rate": laws.decay(t, config),
        "loss:selected": L[times],
        "value_norm:rate": laws.growth(t, config),
        "value_norm:selected": c[times],
    }


def assumptions(_problem: Problem, config: Config) -> dict:
    """Return the source's conditions, and the condition for a loss without a spike.

    Where the source gives no constants, they are 1 and epsilon = 0.1.

    At c = 0 with all attention on j* the loss has curvature (D sigma_x)^2 / 4, stable for eta < 8 /
    (D sigma_x)^2 (derived).
    """
    d, D = (jnp.asarray(size.real, float) for size in (config.group_dim, config.num_groups))
    eta, sigma = config.learning_rate, config.noise_scale
    margins = {
        "D > log^2(1/epsilon), epsilon = 0.1": D - jnp.log(10.0) ** 2,
        "d <= D^2": D**2 - d,
        "sigma_x in [1/2, 2]": jnp.log(2.0) - jnp.abs(jnp.log(sigma)),
        "eta in [0.1, 10]": jnp.log(10.0) - jnp.abs(jnp.log(eta)),
        "eta < 8 / (D sigma_x)^2 (no spike of the loss)": 8 / (D * sigma) ** 2 - eta,
        "gamma > 0 (downstream)": jnp.asarray(config.margin, float),
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
