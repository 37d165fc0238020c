"""Which preconditioner does a layer of linear attention learn in context?

A prompt shows n pairs (x_i, <w, x_i>) of a fresh task w ~ N(0, I_d) and asks for <w, x>; x_i, x ~
N(0, Lambda). A layer with keys times queries Gamma answers sum_i (x^T Gamma x_i) <w, x_i> / n =
x^T Gamma h. SGD from Gamma = 0. Lambda = diag(lambda): tasks and SGD turn with its eigenvectors.

| symbol    | code                       | shape                     |                            |
|-----------|----------------------------|---------------------------|----------------------------|
| lambda    | Problem.spectrum           | (d,)                      | eigenvalues of Lambda      |
| w, x_i, x | Batch.task, .shown, .query | (B, d), (B, n, d), (B, d) | of the prompts of a step   |
| Gamma     | Params.gamma               | (d, d)                    | keys times queries         |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import jaxtheory
from jaxtheory import Algorithm, Check, Claim, Figure, Size, draws, linalg, plot, size, traced
from jaxtheory.claims import Measure, at_most, derived, last


class Config(jaxtheory.Config):
    """Hyper-parameters."""

    dimension: Size = size(5, "d", "entries of an input")
    prompt_length: Size = size(10, "n", "pairs that a prompt shows")
    batch_size: Size = size(64, "B", "fresh prompts per step")
    learning_rate: float = traced(0.05, "eta", "step size of SGD", "(0, inf)")
    decay: float = traced(1.0, "alpha", "lambda_j = j^-alpha; 0: Lambda = I", "[0, inf)")


class Problem(NamedTuple):
    """The covariance Lambda = diag(lambda) of inputs."""

    spectrum: Float[Array, " d"]


class Batch(NamedTuple):
    """Tasks, with what their prompts show and ask."""

    task: Float[Array, "B d"]
    shown: Float[Array, "B n d"]
    query: Float[Array, "B d"]


class Params(NamedTuple):
    """A query x attends to an input x_i by x^T Gamma x_i."""

    gamma: Float[Array, "d d"]


def problem(key, config):
    """lambda_j = j^-alpha."""
    powers = jnp.arange(1, config.dimension.cap + 1, dtype=float) ** -config.decay
    return Problem(draws.masked(powers, config.dimension))


def sample(key, problem, config):
    """B fresh prompts."""
    keys, root = jax.random.split(key, 3), jnp.sqrt(problem.spectrum)
    B, n, d = config.batch_size, config.prompt_length, config.dimension
    shown = draws.normal(keys[1], B, n, d) * root[None, None, :]
    return Batch(draws.normal(keys[0], B, d), shown, draws.normal(keys[2], B, d) * root[None, :])


def init(key, problem, config):
    """Gamma = 0."""
    return Params(jnp.zeros_like(jnp.diag(problem.spectrum)))


def attend(params, batch, config):
    """h = sum_i <w, x_i> x_i / n [B, d], and r = x^T Gamma h - <w, x> [B]."""
    labels = jnp.einsum("bd,bnd->bn", batch.task, batch.shown)
    h = jnp.einsum("bn,bnd->bd", labels, batch.shown) / config.prompt_length.real
    return h, jnp.sum(batch.query * (h @ params.gamma.T - batch.task), axis=1)


def loss(params, batch, problem, config):
    """L(Gamma) = 1/(2B) sum_b r_b^2."""
    return jnp.sum(attend(params, batch, config)[1] ** 2) / (2 * config.batch_size.real)


def gradient(params, batch, problem, config):
    """dL/dGamma = 1/B sum_b r_b x_b h_b^T."""
    h, r = attend(params, batch, config)
    return Params(jnp.einsum("b,bd,be->de", r, batch.query, h) / config.batch_size.real)


def step(key, t, state, batch, problem, config):
    """Gamma <- Gamma - eta dL/dGamma."""
    slope = gradient(state, batch, problem, config)
    return Params(state.gamma - config.learning_rate * slope.gamma)


def moments(problem, config):
    """m of E h h^T = diag(m), from E x x^T x x^T = 2 Lambda^2 + tr(Lambda) Lambda."""
    n, spectrum = config.prompt_length.real, problem.spectrum
    return (1 + 1 / n) * spectrum**2 + jnp.sum(spectrum) / n * spectrum


def population_loss(params, problem, config):
    """E L = sum_jk lambda_j m_k Gamma_jk^2 / 2 - sum_j lambda_j^2 Gamma_jj + tr(Lambda)/2."""
    spectrum, m = problem.spectrum, moments(problem, config)
    squares = jnp.sum(spectrum[:, None] * params.gamma**2 * m[None, :])
    return squares / 2 + jnp.sum(spectrum / 2 - spectrum**2 * jnp.diagonal(params.gamma))


def optimum(problem, config):
    """lambda / m: Gamma* = ((1 + 1/n) Lambda + tr(Lambda)/n I)^-1; n/(n + 1 + d) if Lambda = I."""
    return linalg.quotient(problem.spectrum, moments(problem, config))


def metrics(params, problem, config):
    """E L, and the diagonal of Gamma."""
    return {"loss": population_loss(params, problem, config), "gain": jnp.diagonal(params.gamma)}


def predict(problem, config, steps):
    """E Gamma_t of SGD, exactly and diagonal; E L there, which SGD's exceeds, and at Lambda^-1."""
    spectrum, best = problem.spectrum, optimum(problem, config)
    rate = 1 - config.learning_rate * spectrum * moments(problem, config)
    gain = best[None, :] * (1 - rate[None, :] ** jnp.asarray(steps, float)[:, None])
    inverse = jnp.broadcast_to(linalg.quotient(spectrum, spectrum**2)[None, :], gain.shape)
    at = jax.vmap(lambda g: population_loss(Params(jnp.diag(g)), problem, config))
    return {"gain": gain, "loss": at(gain), "loss:inverse": at(inverse)}


def gradient_is_autodiff(key, config):
    keys, p = jax.random.split(key), problem(key, config)
    at = Params(draws.normal(keys[0], *2 * [config.dimension])), sample(keys[1], p, config), p
    return gradient(*at, config), jax.grad(loss)(*at, config)


def population_loss_is_the_mean(key, config):
    keys, p = jax.random.split(key, 4001), problem(key, config)
    params = Params(draws.normal(keys[0], *2 * [config.dimension]))
    losses = jax.vmap(lambda k: loss(params, sample(k, p, config), p, config))(keys[1:])
    return population_loss(params, p, config), jnp.mean(losses), jnp.std(losses) / 4000**0.5


def descent_by_autodiff(key, config):
    """A step down E L leads from each predicted Gamma to the next, and Gamma* stays."""
    p = problem(key, config)
    gain, best = predict(p, config, jnp.arange(4))["gain"], optimum(p, config)[None, :]
    slope = lambda at: jax.grad(population_loss)(Params(at), p, config).gamma
    rows = jnp.concatenate([gain[:-1], best]), jnp.concatenate([gain[1:], best])
    starts, ends = map(jax.vmap(jnp.diag), rows)
    return starts - config.learning_rate * jax.vmap(slope)(starts), ends


THEORY = jaxtheory.Theory(
    *("linear_attention", Config, problem, sample, init, loss, gradient),
    algorithms={"sgd": Algorithm(init, step)},
    metrics=metrics,
    dims={"gain": ("direction",)},
    predict=predict,
    checks=(
        Check("gradient: autodiff of loss", "derived", "equal", gradient_is_autodiff),
        Check("population_loss: mean of loss", "derived", "sample", population_loss_is_the_mean),
        Check("predict, optimum: descent by autodiff", "derived", "equal", descent_by_autodiff),
    ),
    examples=(Config(3, 4, 2), Config(2, 3, 2, decay=0.0), Config(1, 1, 1)),
)


def off(data):
    """How far Gamma, averaged over directions, ends from the closed form, relatively."""
    return abs(last(data.gain / data.predicted_gain).mean("direction") - 1)


def ratio(data):
    """E L at the end over that of Lambda^-1."""
    return last(data.loss / data.predicted_loss_inverse)


def draw(data):
    """E L against t; dashed the closed form and Lambda^-1."""
    figure, axes = plot.panels(2, title=f"Dashed: theory, Lambda^-1; {data.sizes['seed']} seeds")
    for ax, decay in zip(axes[0], data.decay.values, strict=True):
        for color, n in enumerate(data.prompt_length.values):
            at = data.sel(decay=decay, prompt_length=n)
            plot.series(ax, at.loss, "step", f"n = {n}", color=color, markers=False)
            for curve in (at.predicted_loss, at.predicted_loss_inverse):
                plot.theory(ax, data.step, curve.mean("seed"), "", color=color)
        plot.finish(ax, "step t", "E L", f"lambda_j = j^-alpha, alpha = {decay:g}")
    return figure


FIGURE = Figure(
    *("linear_attention", "arXiv 2306.09927, Theorem 4.1", THEORY, Config()),
    sweep={"vary": {"decay": [0, 0.5], "prompt_length": [5, 20]}, "seeds": 64, "steps": 400},
    quick={"seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LA-1",
            origin=derived(),
            statement="On average over directions Gamma ends within 10 % of the closed form.",
            measure=Measure("|Gamma / closed form - 1| at the end, each decay and l", off),
            bound=at_most(0.1),
        ),
        Claim(
            "LA-2",
            origin=derived(),
            statement="E L ends at least 10 % below that of Lambda^-1.",
            measure=Measure("E L at the end over that of Lambda^-1, each decay and l", ratio),
            bound=at_most(0.9),
        ),
    ),
)
