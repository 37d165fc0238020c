"""Checks of the data, the layer's gradient and the algorithms, and the small configs that all checks run on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Check
from jaxtheory.theories.group_sparse import calculus, literal, model, training
from jaxtheory.theories.group_sparse.literal import case
from jaxtheory.theories.group_sparse.model import Batch, Config, Linear, Params, Problem
from jaxtheory.theories.group_sparse.population_checks import POPULATION_CHECKS

PAPER = "arXiv 2504.08638"
MANY = 4000
Compared = tuple[Any, ...] | None  # (got, want) or (got, want, standard error); None where a check does not apply
KURTOSIS = {"gaussian": 3.0, "uniform": 9 / 5, "rademacher": 1.0}


# The data


def labels_of_flat_vectors(key: Array, config: Config) -> Compared:
    """y = sign <xbar, beta*> with the support of beta* in G_{j*}; and the vectors of the problem without a partition."""
    if not literal.whole(config):
        return None
    d, D = config.group_dim.cap, config.num_groups.cap
    problem = model.problem(key, config)
    plain = model.problem(key, config.replace(partition="contiguous"))
    G = np.arange(d * D).reshape(D, d) if config.partition == "contiguous" else np.array(config.partition)
    flat = lambda x: jnp.zeros((d * D, x.shape[2])).at[G.ravel()].set(jnp.reshape(jnp.swapaxes(x, 0, 1), (d * D, -1)))
    own = jnp.take(jnp.asarray(G), jnp.asarray(config.relevant_group, int) - 1, axis=0)
    got, want = [], []
    for batch, v in ((problem.train, problem.truth), (problem.downstream, problem.downstream_truth)):
        got.append(batch.y)
        want.append(jnp.sign(jnp.zeros(d * D).at[own].set(v) @ flat(batch.x)))
    together = jnp.swapaxes(plain.train.x, 0, 1).reshape(d * D, -1)
    return (got, flat(problem.train.x)), (want, together)


def moments_of_features(key: Array, config: Config) -> Compared:
    """Second moments sigma_x^2 and fourth ones 3, 9/5 or 1 times sigma_x^4, in a group that is not moved; labels are fair."""
    if config.partition != "contiguous":
        return None
    many = config.replace(num_samples=model.Size(MANY), downstream_samples=model.Size(MANY))
    problem = model.problem(key, many)
    other = jnp.where(jnp.asarray(config.relevant_group, int) == 1, 1, 0)
    sigma, got, want, error = config.noise_scale, [], [], []
    for batch, law in ((problem.train, "gaussian"), (problem.downstream, config.features)):
        x = jnp.take(batch.x, other, axis=1) / sigma
        for values, mean in ((x[0], 0.0), (x[0] ** 2, 1.0), (x[0] ** 4, KURTOSIS[law]), (x[0] * x[1], 0.0), (batch.y, 0.0)):
            got.append(jnp.mean(values))
            want.append(jnp.asarray(mean))
            error.append(jnp.std(values) / MANY**0.5 + 1e-9)
    return tuple(map(jnp.stack, (got, want, error)))


def margin_kept(key: Array, config: Config) -> Compared:
    """gamma <= y <v~, x_{j*}>, on both downstream sets."""
    problem = model.problem(key, config)
    star = model.relevant(config)
    found = []
    for batch in (model.moved(b, problem, config) for b in (problem.downstream, problem.downstream_test)):
        u = jnp.einsum("a,ajn,j->n", problem.downstream_truth, batch.x, star)
        found.append(jnp.where(batch.weight > 0, batch.y * u, jnp.inf))
    least = jnp.min(jnp.concatenate(found))
    return jnp.stack([jnp.asarray(config.margin, float), jnp.linalg.norm(problem.truth)]), jnp.stack([least, jnp.ones(())])


def moves_along(key: Array, config: Config) -> Compared:
    """Labels and everything orthogonal to v~ in group j* stay; along it |u| becomes |u| + gamma."""
    problem, _ = case(key, config)
    v, star, batch = problem.downstream_truth, model.relevant(config), problem.downstream
    after = model.moved(batch, problem, config)
    u = jnp.einsum("a,ajn->jn", v, batch.x)
    far = jnp.where(star[:, None] > 0, batch.y[None] * (jnp.abs(u) + config.margin), u)
    want = batch.x + v[:, None, None] * (far - u)[None]
    return (after.x, after.y), (want, jnp.sign(jnp.einsum("a,ajn,j->n", v, after.x, star)))


def sines_orthogonal(_key: Array, config: Config) -> Compared:
    """P^T P = rho I, rho = (D + 1) / 2, on the true D."""
    P, D = model.encodings(config), config.num_groups
    return P.T @ P, (jnp.asarray(D.real, float) + 1) / 2 * jnp.diag(D.mask().astype(float))


# The layer


def attention_by_token(key: Array, config: Config) -> Compared:
    """S and f from [X; P] and the whole W."""
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    x = problem.train.x
    v, W = literal.joined(params)
    H = literal.tokens(x)
    S = literal.attention(W, H)
    got = jnp.moveaxis(model.attend(params, x, config), 2, 0), model.output(params, x, config)
    return got, (S, jnp.einsum("c,nck,nkj->n", v, H, S))


def gradient_by_token(key: Array, config: Config) -> Compared:
    """In v and W."""
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    return calculus.gradient(params, problem.train, problem, config), jax.grad(literal.loss)(params, problem.train)


def linear_loss(beta: Array, batch: Batch) -> Array:
    """Logistic loss of <beta, X>, a sample at a time."""
    f = jnp.stack([jnp.vdot(beta, batch.x[:, :, i]) for i in range(batch.x.shape[2])])
    return jnp.mean(jnp.log1p(jnp.exp(-batch.y * f)))


def gradient_linear(key: Array, config: Config) -> Compared:
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    beta = params.W12
    got = calculus.gradient(Linear(beta), problem.train, problem, config)
    return got.beta, jax.grad(linear_loss)(beta, problem.train)


# Training


def stepped(params: Any, loss: Any, rate: Any) -> Any:
    """params - rate times autodiff's gradient."""
    return jax.tree.map(lambda x, g: x - rate * g, params, jax.grad(loss)(params))


def step_descends(key: Array, config: Config) -> Compared:
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    got = training.step(key, 0, params, problem.train, problem, config)
    return got, stepped(params, lambda p: literal.loss(p, problem.train), config.learning_rate)


def one(problem: Problem, i: int, config: Config) -> Batch:
    """Downstream sample i."""
    x, y, _ = model.moved(problem.downstream, problem, config)
    return Batch(x[:, :, i : i + 1], y[i : i + 1], jnp.ones(1))


def downstream_steps(key: Array, config: Config) -> Compared:
    """Before tau a step of pre-training; at tau the values from 0; then on; after m samples the first again. For the three kinds of W."""
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    m, tau = config.downstream_samples.cap, jnp.asarray(config.pretraining_steps, jnp.int32)
    keep = jax.lax.stop_gradient if config.attention == "frozen" else jnp.asarray
    trainable = lambda p: Params(p.v1, p.v2, *(keep(x) for x in p[2:]))
    emptied = params._replace(v1=0 * params.v1, v2=0 * params.v2)
    emptied = jax.tree.map(jnp.zeros_like, params) if config.attention == "scratch" else emptied
    got, want = [], []
    for later, i, start in ((0, 0, emptied), (1, 1 % m, params), (m, 0, params)):
        got.append(training.downstream_step(key, tau + later, params, (), problem, config))
        want.append(stepped(start, lambda p, i=i: literal.loss(trainable(p), one(problem, i, config)), config.downstream_rate))
    early = config.replace(pretraining_steps=tau + 1)
    got.append(training.downstream_step(key, tau, params, (), problem, early))
    return (got, [*want, training.step(key, 0, params, problem.train, problem, config)])


def logistic_steps(key: Array, config: Config) -> Compared:
    """From tau on, on one sample and on all; nothing before."""
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    m, tau, beta = config.downstream_samples.cap, jnp.asarray(config.pretraining_steps, jnp.int32), params.W12
    early = config.replace(pretraining_steps=tau + 5)
    got, want = [], []
    for later, i in ((0, 0), (1, 1 % m), (m, 0)):
        got.append(training.logistic_step(key, tau + later, Linear(beta), (), problem, config).beta)
        want.append(stepped(beta, lambda b, i=i: linear_loss(b, one(problem, i, config)), config.downstream_rate))
    got.append(training.logistic_step(key, tau, Linear(beta), (), problem, early).beta)
    return got, [*want, beta]


def fit_steps(key: Array, config: Config) -> Compared:
    """From tau on, on all downstream samples; nothing before."""
    if not literal.whole(config):
        return None
    problem, params = case(key, config)
    tau, beta = jnp.asarray(config.pretraining_steps, jnp.int32), params.W12
    early = config.replace(pretraining_steps=tau + 5)
    got = [training.fit_step(key, tau, Linear(beta), (), problem, c).beta for c in (config, early)]
    return got, [stepped(beta, lambda b: linear_loss(b, model.moved(problem.downstream, problem, config)), config.downstream_rate), beta]


CHECKS = (
    Check("gradient: autodiff of the token-by-token loss in v and W", PAPER, "equal", gradient_by_token),
    Check("gradient: autodiff of the linear predictor", "derived", "equal", gradient_linear),
    Check("attend: token by token", PAPER, "equal", attention_by_token),
    Check("encodings: orthogonal, of squared norm (D+1)/2", "derived (DST-I)", "equal", sines_orthogonal),
    Check("problem: flat vectors under the partition, and their labels", PAPER, "equal", labels_of_flat_vectors),
    Check("problem: moments of the features", PAPER, "sample", moments_of_features),
    Check("moved: margin and unit direction", PAPER, "bound", margin_kept),
    Check("moved: along v~ in the relevant group alone", PAPER, "equal", moves_along),
    Check("step: descent on the token-by-token loss", PAPER, "equal", step_descends),
    Check("downstream_step: descent on one sample", PAPER, "equal", downstream_steps),
    Check("logistic_step: descent on one sample", "derived", "equal", logistic_steps),
    Check("fit_step: descent on all samples", "derived", "equal", fit_steps),
    *POPULATION_CHECKS,
)

_SMALL: dict[str, Any] = {"group_dim": 2, "num_groups": 3, "num_samples": 5, "downstream_samples": 3}
EXAMPLES = (
    Config(**_SMALL),
    Config(group_dim=2, num_groups=2, relevant_group=1, num_samples=4, downstream_samples=3, features="uniform", attention="trained"),
    Config(group_dim=3, num_groups=4, num_samples=3, downstream_samples=2, features="rademacher", attention="scratch", pretraining_steps=3),
    Config(**_SMALL | {"num_samples": 1, "downstream_samples": 1}, relevant_group=3, partition=((4, 0), (1, 5), (3, 2)), margin=0.0),
    Config(**_SMALL, noise_scale=0.7, margin=1.0, pretraining_steps=1).pad(group_dim=3, num_groups=5, num_samples=8, downstream_samples=4),
)
