"""Second routes to the layer, its gradient, its reduction and the bounds; and the small configs that all checks run on."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core.theory import Check
from jaxtheory.theories.nearest_neighbor import calculus, model, predictions, training
from jaxtheory.theories.nearest_neighbor.model import Config, Full, Params, Prompts, Reduced
from jaxtheory.theories.nearest_neighbor.population_checks import POPULATION_CHECKS, UNREAD, Compared, drawn, setting

PAPER = "arXiv 2411.10830"
MANY = 4000
ENUMERABLE = 4  # labels of at most this many examples are enumerated


# Ingredients


def full(key: Array, config: Config) -> Full:
    """Any W, but for the rows that meet labels, which are 0 where labels are averaged; zero on padded rows and columns."""
    d = config.dimension
    inside = jnp.concatenate([d.mask(), jnp.ones(2, bool)])
    meets_labels = jnp.equal(jnp.arange(d.cap + 2), d.cap)
    W = jax.random.normal(key, (d.cap + 2, d.cap + 2))
    if config.labels == "averaged":
        W = jnp.where(meets_labels[:, None], 0, W)
    return Full(jnp.where(inside[:, None] & inside[None, :], W, 0))


def dense_loss(params: Full, x: Array, q: Array, y: Array) -> Float[Array, ""]:
    """The loss of one prompt as the source writes it: H as a matrix, i* by distance."""
    H = jnp.concatenate(
        [jnp.concatenate([x.T, y[None, :], jnp.zeros((1, len(y)))]), jnp.concatenate([q, jnp.zeros(1), jnp.ones(1)])[:, None]], axis=1
    )
    f = (H @ jax.nn.softmax(H.T @ params.W @ H[:, -1]))[-2]
    return (f - y[jnp.argmin(jnp.sum((x - q[None, :]) ** 2, axis=1))]) ** 2 / 2


def whole_loss(params: Full, prompts: Prompts, config: Config) -> Float[Array, ""]:
    """Its mean over prompts and, where they are averaged, over all 2^N labels."""
    if prompts.y is not None:
        return jnp.mean(jax.vmap(dense_loss, (None, 0, 0, 0))(params, prompts.x, prompts.q, prompts.y))
    labels = jnp.asarray(np.array(list(itertools.product((-1.0, 1.0), repeat=config.context.cap))))
    over_labels = jax.vmap(dense_loss, (None, None, None, 0))
    return jnp.mean(jax.vmap(over_labels, (None, 0, 0, None))(params, prompts.x, prompts.q, labels))


def unpadded(config: Config) -> bool:
    return all(getattr(config, name).value is None for name in ("dimension", "context", "num_prompts"))


def dense(config: Config) -> bool:
    """Whether the source's own form is computed here."""
    return unpadded(config) and (config.labels != "averaged" or config.context.cap <= ENUMERABLE)


def prompts_of(key: Array, config: Config) -> Prompts:
    """Training prompts."""
    prompts = drawn(key, config, config.num_prompts)
    return prompts._replace(y=None) if config.labels == "averaged" else prompts


# The layer


def loss_dense(key: Array, config: Config) -> Compared:
    """W and (xi1, xi2) against the source's form, labels enumerated."""
    if not dense(config):
        return None
    prompts, structured = prompts_of(key, config), setting(key, config)
    params = full(key, config), calculus.lift(structured, config)
    got = [model.loss(p, prompts, UNREAD, config) for p in (params[0], structured)]
    return jnp.stack(got), jnp.stack([whole_loss(p, prompts, config) for p in params])


def gradient_dense(key: Array, config: Config) -> Compared:
    """Of W, the row that meets labels included: it is 0 on average over symmetric labels."""
    if not dense(config):
        return None
    prompts, params = prompts_of(key, config), full(key, config)
    return calculus.gradient(params, prompts, UNREAD, config), jax.grad(whole_loss)(params, prompts, config)


def gradient_autodiff(key: Array, config: Config) -> Compared:
    """In both parametrisations, padded ones too."""
    prompts, params = prompts_of(key, config), (full(key, config), setting(key, config))
    got = [calculus.gradient(p, prompts, UNREAD, config) for p in params]
    return got, [jax.grad(model.loss)(p, prompts, UNREAD, config) for p in params]


def logit_gradient_printed(key: Array, config: Config) -> Compared:
    """g_k = s_k (s_k - Q + s* - 1[k = i*]), g_q = s_q (s* - Q), summed to 0 over the prompt."""
    if config.labels != "averaged":
        return None
    prompts = prompts_of(key, config)
    s = model.attend(setting(key, config), prompts, config)
    Q, best = jnp.sum(s[:, :-1] ** 2, axis=1, keepdims=True), jnp.max(s[:, :-1], axis=1, keepdims=True)
    g = s[:, :-1] * (s[:, :-1] - Q + best - model.at_nearest(prompts).astype(s.dtype))
    got = calculus.logit_gradient(s, prompts)
    return (got, jnp.sum(got, axis=1)), (jnp.concatenate([g, s[:, -1:] * (best - Q)], axis=1), jnp.zeros(len(got)))


def mask_grows(key: Array, config: Config) -> Compared:
    """dL/dxi2 <= 0 for averaged labels."""
    if config.labels != "averaged":
        return None
    return calculus.gradient(setting(key, config), prompts_of(key, config), UNREAD, config).xi2, jnp.zeros(())


def logits_of_query(key: Array, config: Config) -> Compared:
    """h_q^T W h_q = xi1 |q|^2 - xi2 = xi1 - xi2, from W."""
    params, prompts = setting(key, config), prompts_of(key, config)
    both = [model.logits(p, prompts)[:, -1] for p in (params, calculus.lift(params, config))]
    real = prompts.weight > 0
    return [jnp.where(real, z, 0) for z in both], [jnp.where(real, params.xi1 - params.xi2, 0)] * 2


# The reduction


def reduce_is_closest(key: Array, config: Config) -> Compared:
    """The distance from W is least: its gradient in (xi1, xi2) is 0 there; and reduce(lift(params)) = params."""
    W, params = full(key, config), setting(key, config)
    distance = lambda p: jnp.sum((W.W - calculus.lift(p, config).W) ** 2)
    slope = jax.grad(distance)(calculus.reduce(W, config))
    return (slope, calculus.reduce(calculus.lift(params, config), config)), (Reduced(jnp.zeros(()), jnp.zeros(())), params)


def rates_of_descent(key: Array, config: Config) -> Compared:
    """reduce of a step in W is a step in (xi1, xi2), on any prompts."""
    prompts, params = prompts_of(key, config), setting(key, config)
    rates = calculus.rates(config)
    slope = calculus.gradient(params, prompts, UNREAD, config)
    moved = Full(
        calculus.lift(params, config).W
        - config.learning_rate * jax.grad(model.loss)(calculus.lift(params, config), prompts, UNREAD, config).W
    )
    return jax.tree.map(lambda p, g, rate: p - rate * g, params, slope, rates), calculus.reduce(moved, config)


def symmetrised(prompts: Prompts, config: Config) -> Prompts:
    """Each prompt under the 2^d d! signed permutations of coordinates, of which only multiples of the identity commute with all."""
    d = config.dimension.cap
    signs = itertools.product((-1.0, 1.0), repeat=d)
    maps = jnp.asarray(np.array([np.diag(s)[list(p)] for s in signs for p in itertools.permutations(range(d))]))
    x, q = (jnp.einsum("gij,b...j->gb...i", maps, z).reshape(-1, *z.shape[1:]) for z in (prompts.x, prompts.q))
    copies = lambda z: jnp.tile(z, (len(maps),) + (1,) * (z.ndim - 1))
    return Prompts(x, q, copies(prompts.t), copies(prompts.nearest), None, copies(prompts.weight) / len(maps))


def symmetric_run(key: Array, config: Config) -> Compared:
    """Three steps of W on symmetrised prompts against three of (xi1, xi2), as matrices."""
    if not unpadded(config) or config.labels != "averaged" or config.dimension.cap > 3:
        return None
    prompts = symmetrised(prompts_of(key, config), config)
    W, params = calculus.lift(setting(key, config), config), setting(key, config)
    for t in range(3):
        W = training.literal_step(key, t, W, prompts, UNREAD, config)
        params = training.step(key, t, params, prompts, UNREAD, config)
    return W, calculus.lift(params, config)


def step_descends(key: Array, config: Config) -> Compared:
    """Both steps by autodiff of the loss: in W at rate eta; in (xi1, xi2) at eta/d and eta."""
    prompts, params = prompts_of(key, config), setting(key, config)
    slope = jax.grad(model.loss)(params, prompts, UNREAD, config)
    eta, d = config.learning_rate, config.dimension.real
    return training.step(key, 0, params, prompts, UNREAD, config), Reduced(params.xi1 - eta / d * slope.xi1, params.xi2 - eta * slope.xi2)


def literal_step_descends(key: Array, config: Config) -> Compared:
    prompts, W = prompts_of(key, config), full(key, config)
    want = W.W - config.learning_rate * jax.grad(model.loss)(W, prompts, UNREAD, config).W
    return training.literal_step(key, 0, W, prompts, UNREAD, config).W, want


# Prompts


def prompts_valid(key: Array, config: Config) -> Compared:
    """Unit vectors, their inner products, the nearest by distance; the query of the tests under shift is its nearest example."""
    problem = model.problem(key, config)
    got, want = [], []
    for prompts in problem:
        real = (prompts.weight > 0)[:, None] & config.context.mask()[None, :]
        distance = jnp.where(real, jnp.sum((prompts.x - prompts.q[:, None, :]) ** 2, axis=2), 0)
        ranked = jnp.where(config.context.mask()[None, :], distance, jnp.inf)
        got += [jnp.sum(prompts.x**2, axis=2), distance, prompts.nearest.astype(float), jnp.sum(prompts.weight)]
        want += [real.astype(float), jnp.where(real, 2 - 2 * prompts.t, 0), jnp.argmin(ranked, axis=1).astype(float), jnp.ones(())]
    shift = problem.shift
    return (got, model.picked(shift.t, shift)), (want, (shift.weight > 0).astype(float))


def prompts_moments(key: Array, config: Config) -> Compared:
    """Of many examples: E x x^T = E q q^T = I/d, E t^2 = 1/d, E t^4 = 3/(d (d + 2)); labels of mean 0 and variance 1."""
    test = model.draw_prompts(key, model.Size(MANY), config)
    d, x, t, y = config.dimension.real, test.x[:, 0], test.t[:, -1 if unpadded(config) else 0], test.y[:, 0]
    values = [jnp.mean(x[:, 0] * x[:, 1]), jnp.mean(x[:, 0] ** 2), jnp.mean(test.q[:, 1] ** 2), jnp.mean(t**2), jnp.mean(t**4), jnp.mean(y)]
    columns = [x[:, 0] * x[:, 1], x[:, 0] ** 2, test.q[:, 1] ** 2, t**2, t**4, y]
    want = [0, 1 / d, 1 / d, 1 / d, 3 / (d * (d + 2)), 0]
    return jnp.stack(values), jnp.stack([jnp.asarray(w, float) for w in want]), jnp.stack([jnp.std(c) / math.sqrt(MANY) for c in columns])


def flipped_separates(key: Array, config: Config) -> Compared:
    """Examples other than x_{i*} = q are min(delta, 4 - delta) away or more, and each is x_j or -x_j."""
    shift, delta = model.at_example(drawn(key, config)), config.separation
    moved = model.flipped(shift, delta, config)
    others = ~model.at_nearest(shift) & config.context.mask()[None, :] & (shift.weight > 0)[:, None]
    distance = jnp.sum((moved.x - moved.q[:, None, :]) ** 2, axis=2)
    least = jnp.min(jnp.where(others, distance, 4))
    kept = jnp.max(jnp.abs(jnp.abs(moved.x) - jnp.abs(shift.x))) + jnp.max(jnp.abs(moved.t - model.inner(moved.x, moved.q[:, None, :])))
    far = jnp.max(jnp.where(others & (2 - 2 * shift.t <= delta), 0, jnp.abs(moved.t - shift.t)))  # the others and x_{i*} stay
    return jnp.stack([predictions.flipped_separation(config), kept, far]), jnp.stack([least, jnp.asarray(1e-12), jnp.zeros(())])


def relabelled_separates(key: Array, config: Config) -> Compared:
    """Examples of another label are delta farther than the nearest; those that are farther keep theirs."""
    test, delta = drawn(key, config), jnp.asarray(config.separation)
    moved = model.relabelled(test, delta)
    farther = 2 * (model.picked(test.t, test)[:, None] - test.t)
    valid = config.context.mask()[None, :] & (test.weight > 0)[:, None]
    other = valid & (moved.y != model.picked(test.y, test)[:, None])
    changed = jnp.max(jnp.where(valid & (farther >= delta), jnp.abs(moved.y - test.y), 0))
    return jnp.stack([delta, changed]), jnp.stack([jnp.min(jnp.where(other, farther, 4)), jnp.zeros(())])


# Bounds


def deviations(params: Params, prompts: Prompts, config: Config) -> Float[Array, " B"]:
    """|f - y_{i*}| directly, 0 on padded rows."""
    s = model.attend(params, prompts, config)
    f = jnp.sum(s[:, :-1] * prompts.y, axis=1)
    return jnp.where(prompts.weight > 0, jnp.abs(f - model.picked(prompts.y, prompts)), 0)


def bound_holds(key: Array, config: Config) -> Compared:
    """On separated test prompts and on flipped ones, for small and large parameters."""
    test, delta = drawn(key, config), config.separation
    flipped = model.flipped(model.at_example(test), delta, config)
    sets = ((model.relabelled(test, delta), delta), (flipped, predictions.flipped_separation(config)))
    scaled = [jax.tree.map(lambda v, scale=scale: scale * v, setting(key, config)) for scale in (1.0, 5.0)]
    got = [deviations(p, prompts, config) for p in scaled for prompts, _ in sets]
    return jnp.stack(got), jnp.stack([predictions.bound(p, prompts, gap, config) + 1e-13 for p in scaled for prompts, gap in sets])


def early_bound_at_example(key: Array, config: Config) -> Compared:
    """Where q = x_{i*} both forms are one."""
    shift = model.at_example(drawn(key, config))
    params, delta = setting(key, config), config.separation
    real = shift.weight > 0
    pair = [f(params, shift, delta, config) for f in (predictions.early_bound, predictions.bound)]
    return tuple(jnp.where(real, value, 0) for value in pair)


def shift_bound_holds(key: Array, config: Config) -> Compared:
    """On flipped prompts, for small and large parameters; the error of averaged labels by attention itself."""
    flipped = model.flipped(model.at_example(drawn(key, config)), config.separation, config)
    got, want = [], []
    for scale in (1.0, 5.0):
        params = jax.tree.map(lambda v: scale * v, setting(key, config))  # noqa: B023
        s = model.attend(params, flipped, config)
        error = jnp.sum(s[:, :-1] ** 2, axis=1) - 2 * model.picked(s[:, :-1], flipped) + 1
        got.append(jnp.max(jnp.where(flipped.weight > 0, error, 0)))
        want.append(predictions.shift_bound(params, predictions.flipped_separation(config), config) + 1e-13)
    return jnp.stack(got), jnp.stack(want)


def errors_without_cancellation(key: Array, config: Config) -> Compared:
    """Q - 2 s* + 1 by its definition; with labels, (f - y_{i*})^2."""
    test = drawn(key, config)
    s = model.attend(setting(key, config), test, config)
    plain = jnp.sum(s[:, :-1] ** 2, axis=1) - 2 * model.picked(s[:, :-1], test) + 1
    got = model.squared_errors(s, test._replace(y=None)), model.squared_errors(s, test)
    real = test.weight > 0
    return [jnp.where(real, g, 0) for g in got], [jnp.where(real, plain, 0), deviations(setting(key, config), test, config) ** 2]


def off_structure_norm(key: Array, config: Config) -> Compared:
    """Pythagoras: |W|^2 = d xi1^2 + xi2^2 + its square."""
    W = full(key, config)
    xi1, xi2 = jnp.trace(W.W[:-2, :-2]) / config.dimension.real, -W.W[-1, -1]
    return predictions.off_structure(W, config)[0] ** 2, jnp.sum(W.W**2) - config.dimension.real * xi1**2 - xi2**2


CHECKS = (
    Check("loss: the source's matrix form, labels enumerated", PAPER, "equal", loss_dense),
    Check("squared_errors: without rearrangement", "derived", "equal", errors_without_cancellation),
    Check("gradient: autodiff of the source's matrix form in W", PAPER, "equal", gradient_dense),
    Check("gradient: autodiff of the loss", "derived", "equal", gradient_autodiff),
    Check("logit_gradient: written out", "derived", "equal", logit_gradient_printed),
    Check("gradient: xi2 never falls", "derived", "bound", mask_grows),
    Check("logits: the query's is xi1 - xi2", "derived; the talk has -xi2", "equal", logits_of_query),
    Check("reduce: closest structured matrix", "derived", "equal", reduce_is_closest),
    Check("lift: the run of W on symmetrised prompts", f"{PAPER}, proposition on the form of W", "equal", symmetric_run),
    Check("rates: descent on W, seen in (xi1, xi2)", "derived; the source leaves the 1/d out", "equal", rates_of_descent),
    Check("step: autodiff of the loss", PAPER, "equal", step_descends),
    Check("literal_step: autodiff of the loss", PAPER, "equal", literal_step_descends),
    Check("problem: unit vectors and their nearest", PAPER, "equal", prompts_valid),
    Check("draw_prompts: moments", PAPER, "sample", prompts_moments),
    Check("flipped: separation", f"{PAPER}, appendix B", "bound", flipped_separates),
    Check("relabelled: separation", f"{PAPER}, theorem on shift", "bound", relabelled_separates),
    Check("bound: largest deviation", "derived", "bound", bound_holds),
    Check("early_bound: the bound at q = x_{i*}", "derived", "equal", early_bound_at_example),
    Check("shift_bound: largest error", "derived", "bound", shift_bound_holds),
    Check("off_structure: Pythagoras", "derived", "equal", off_structure_norm),
    *POPULATION_CHECKS,
)

_SMALL: dict[str, Any] = {"num_prompts": 6, "num_test": 10, "mask": 1.5}
EXAMPLES = (
    Config(dimension=3, context=4, learning_rate=0.5, **_SMALL),
    Config(dimension=2, context=1, separation=0.0, num_prompts=4, num_test=5, mask=0.0),
    Config(dimension=4, context=3, separation=1.5, labels="gaussian", initial_alignment=0.7, **_SMALL),
    Config(dimension=2, context=2, separation=3.0, labels="rademacher", **_SMALL),
    Config(dimension=3, context=4, learning_rate=0.5, **_SMALL).pad(dimension=5, context=6, num_prompts=8, num_test=12),
)
