"""Do two learning rates let weak features be learned as fast as strong ones?

y = <u*, x> + <v*, s z> + sigma * noise with x, z ~ N(0, I) and a scale s < 1: the curvature of the
loss is h = 1 along u, s^2 along v. Heavy ball on fresh batches from zero: p <- beta p + dL/dw,
w <- w - eta p, with one momentum beta and a rate eta for each group w of u and v.

| symbol    | code                         | shape                |                                |
|-----------|------------------------------|----------------------|--------------------------------|
| u*, v*    | Problem.strong, .weak        | (d,), (m,)           | planted, uniform on the sphere |
| x, s z, y | Batch.strong, .weak, .labels | (B, d), (B, m), (B,) | fresh samples of a step        |
| u, v      | Params.strong, .weak         | (d,), (m,)           | weights                        |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import jaxtheory
from jaxtheory import Check, Claim, Figure, Size, draws, linalg, plot, size, sizes, traced
from jaxtheory.claims import Measure, at_least, at_most, derived, last


class Config(jaxtheory.Config):
    """Hyper-parameters."""

    strong_size: Size = size(5, "d", "number of strong features")
    weak_size: Size = size(5, "m", "number of weak features")
    batch_size: Size = size(32, "B", "fresh samples per step")
    strong_rate: float = traced(0.05, "etau", "learning rate of u", "(0, inf)")
    weak_rate: float = traced(0.05, "etav", "learning rate of v", "(0, inf)")
    momentum: float = traced(0.6, "beta", "what remains of the last update", "[0, 1)")
    scale: float = traced(0.3, "s", "size of a weak feature", "(0, inf)")
    noise: float = traced(0.02, "sigma", "standard deviation of the label noise", "[0, inf)")


class Params(NamedTuple):
    """Weights of the two groups, learned or planted."""

    strong: Float[Array, " d"]
    weak: Float[Array, " m"]


class Batch(NamedTuple):
    """Features and labels."""

    strong: Float[Array, "B d"]
    weak: Float[Array, "B m"]
    labels: Float[Array, " B"]


def problem(key, config):
    """u*, v* uniform on the unit spheres."""
    u, v = jax.random.split(key)
    draw = lambda key, n: linalg.unit(draws.normal(key, n))
    return Params(draw(u, config.strong_size), draw(v, config.weak_size))


def sample(key, problem, config):
    """B fresh samples."""
    keys = jax.random.split(key, 3)
    x = draws.normal(keys[0], config.batch_size, config.strong_size)
    z = config.scale * draws.normal(keys[1], config.batch_size, config.weak_size)
    noise = config.noise * draws.normal(keys[2], config.batch_size)
    return Batch(x, z, x @ problem.strong + z @ problem.weak + noise)


def init(key, problem, config):
    """u = 0, v = 0."""
    return jax.tree.map(jnp.zeros_like, problem)


def residual(params, batch):
    """r = <u, x> + <v, s z> - y [B]."""
    return batch.strong @ params.strong + batch.weak @ params.weak - batch.labels


def loss(params, batch, problem, config):
    """L(u, v) = 1/(2B) sum_b r_b^2."""
    return sizes.mean(residual(params, batch) ** 2, config.batch_size) / 2


def gradient(params, batch, problem, config):
    """dL/du = 1/B sum_b r_b x_b and dL/dv = 1/B sum_b r_b s z_b."""
    r = residual(params, batch) / config.batch_size.real
    return Params(r @ batch.strong, r @ batch.weak)


def heavy_ball(config):
    """One momentum, a rate for each group."""
    rates = {"strong": config.strong_rate, "weak": config.weak_rate}
    groups = {name: optax.sgd(rate, config.momentum) for name, rate in rates.items()}
    return optax.multi_transform(groups, Params("strong", "weak"))


def metrics(params, problem, config):
    """e = |w - w*|^2 of each group, and the risk E L - sigma^2/2 = (e_u + s^2 e_v) / 2."""
    e = jnp.stack([jnp.sum((w - truth) ** 2) for w, truth in zip(params, problem, strict=True)])
    return {"risk": (e[0] + config.scale**2 * e[1]) / 2, "error": e}


def predict(problem, config, steps):
    """Their means, exactly: a linear recursion of e, c = E<w - w*, p>, q = E|p|^2, from e = 1."""
    h = jnp.array([1, config.scale**2], float)
    eta = jnp.array([config.strong_rate, config.weak_rate], float)
    n = jnp.array([config.strong_size.real, config.weak_size.real], float)
    B, beta = config.batch_size.real, config.momentum

    def step(moments, _):
        e, c, q = moments
        # E|dL/dw|^2 = h ((B + 1) h e + n E r^2) / B; f = E<w - w*, p'> = beta c + h e
        slope = h * ((B + 1) * h * e + n * (h @ e + config.noise**2)) / B
        q, f = beta**2 * q + 2 * beta * h * c + slope, beta * c + h * e
        return (e - 2 * eta * f + eta**2 * q, f - eta * q, q), e

    start = jnp.ones(2), jnp.zeros(2), jnp.zeros(2)
    e = jax.lax.scan(step, start, length=int(max(steps)) + 1)[1][jnp.asarray(steps)]
    return {"risk": e @ h / 2, "error": e}


def assumptions(problem, config):
    """E w converges: eta h < 2 (1 + beta) in both groups."""
    largest = jnp.maximum(config.strong_rate, config.weak_rate * config.scale**2)
    bound = 2 * (1 + config.momentum)
    return {"stable mean": (largest < bound, bound - largest)}


def gradient_is_autodiff(key, config):
    keys = jax.random.split(key, 3)
    p = problem(keys[0], config)
    at = problem(keys[1], config), sample(keys[2], p, config), p
    return gradient(*at, config), jax.grad(loss)(*at, config)


def predict_is_the_mean(key, config):
    """After four steps, over 4000 runs of one problem."""
    algorithm, keys = THEORY.algorithms["heavy_ball"], jax.random.split(key, 4001)
    p = problem(keys[0], config)

    def end(key):
        state = algorithm.init(key, p, config)
        for t, k in enumerate(jax.random.split(key, 4)):
            state = algorithm.step(k, t, state, sample(k, p, config), p, config)
        return metrics(state.params, p, config)["error"]

    ends, want = jax.vmap(end)(keys[1:]), predict(p, config, [4])["error"][0]
    return jnp.mean(ends, 0), want, jnp.std(ends, 0) / 4000**0.5


THEORY = jaxtheory.Theory(
    *("two_rates", Config, problem, sample, init, loss, gradient),
    algorithms={},
    metrics=metrics,
    dims={"error": ("group",)},
    coords=lambda config: {"group": ("strong", "weak")},
    predict=predict,
    assumptions=assumptions,
    checks=(
        Check("gradient: autodiff of loss", "derived", "equal", gradient_is_autodiff),
        Check("predict: mean over runs", "derived", "sample", predict_is_the_mean),
    ),
    examples=(Config(3, 2, 2, noise=1.0), Config(1, 1, 1, momentum=0.0, noise=0.0)),
)
THEORY = THEORY._replace(algorithms={"heavy_ball": jaxtheory.from_optax(THEORY, heavy_ball)})


def off(data):
    """How far the risk ends from the closed form, on average over the settings, relatively."""
    return abs(jnp.expm1(jnp.mean(jnp.log(last(data.risk / data.predicted_risk).values))))


def factor(data):
    """The last risk with one rate over that with two."""
    end = last(data.risk)
    return end.isel(weak_rate=0) / end.isel(weak_rate=1)


def draw(data):
    """The risk against t; dashed the closed form."""
    figure, axes = plot.panels(2, title=f"Rates of v; dashed: theory; {data.sizes['seed']} seeds")
    for ax, beta in zip(axes[0], data.momentum.values, strict=True):
        for color, rate in enumerate(data.weak_rate.values):
            at = data.sel(momentum=beta, weak_rate=rate)
            plot.series(ax, at.risk, "step", f"rate {rate:g}", color=color, markers=False)
            plot.theory(ax, data.step, at.predicted_risk.mean("seed"), "", color=color)
        plot.finish(ax, "step t", "risk", f"beta = {beta:g}", yscale="log")
    return figure


FIGURE = Figure(
    *("two_rates", "derived", THEORY, Config()),
    sweep={"vary": {"momentum": [0, 0.6], "weak_rate": [0.05, 0.5]}, "seeds": 256, "steps": 100},
    quick={"steps": 100},
    draw=draw,
    claims=(
        Claim(
            "TR-1",
            origin=derived(),
            statement="On average over the settings the risk ends within 20 % of the closed form.",
            measure=Measure("|risk / closed form - 1|, geometric mean over the settings", off),
            bound=at_most(0.2),
        ),
        Claim(
            "TR-2",
            origin=derived(),
            statement="A rate of v that is 10 times as large divides the risk by at least 100.",
            measure=Measure("risk with one rate over that with two, each momentum", factor),
            bound=at_least(100),
        ),
    ),
)
