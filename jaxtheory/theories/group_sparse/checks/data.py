"""Checks of the data."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.group_sparse import data, model
from jaxtheory.theories.group_sparse.checks import material
from jaxtheory.theories.group_sparse.model import Batch, Config

KURTOSIS = {"gaussian": 3.0, "uniform": 9 / 5, "rademacher": 1.0}


@check("problem: flat vectors under the partition, and their labels", material.PAPER, "equal")
def labels_of_flat_vectors(key: Array, config: Config) -> Compared:
    """y = sign <xbar, beta*> with the support of beta* in G_{j*} and of length 1.

    With a partition, the vectors are those of the problem without one.
    """
    if not material.is_unpadded(config):
        return None
    d, D = config.group_dim.cap, config.num_groups.cap
    problem = data.problem(key, config)
    G = np.arange(d * D).reshape(D, d)
    if config.partition != "contiguous":
        G = np.array(config.partition)
    flat = lambda x: jnp.reshape(jnp.swapaxes(x, 0, 1), (d * D, -1))[np.argsort(G.ravel())]
    group = jnp.asarray(G)[jnp.asarray(config.relevant_group, int) - 1]
    got, want = [], []
    for old, new, v in (
        (problem.train, problem.test, problem.truth),
        (problem.downstream, problem.downstream_test, problem.downstream_truth),
    ):
        beta = jnp.zeros(d * D).at[group].set(v)
        for batch in (old, new):
            n = batch.y.size
            got += [batch.y, batch.weight]
            want += [jnp.sign(beta @ flat(batch.x)), jnp.full(n, 1 / n)]
        got, want = [*got, v @ v], [*want, jnp.ones(())]
    if config.partition == "contiguous":
        return got, want
    plain = data.problem(key, config.replace(partition="contiguous")).train.x
    flat_vectors = jnp.swapaxes(plain, 0, 1).reshape(d * D, -1)
    return [*got, flat(problem.train.x)], [*want, flat_vectors]


@check("problem: moments of the features", material.PAPER, "sample")
def moments_of_features(key: Array, config: Config) -> Compared:
    """Second moments sigma_x^2, and fourth moments 3, 9/5 or 1 times sigma_x^4, outside group j*.
    Both labels are equally likely.
    """
    if not material.is_unpadded(config):
        return None
    large_config = config.replace(
        num_samples=Size(material.MANY), downstream_samples=Size(material.MANY)
    )
    problem = data.problem(key, large_config)
    j = np.arange(config.num_groups.cap - 1)
    irrelevant = jnp.where(j < jnp.asarray(config.relevant_group, int) - 1, j, j + 1)
    got, want, error = [], [], []
    for name, law in (
        ("train", "gaussian"),
        ("test", "gaussian"),
        ("downstream", config.features),
        ("downstream_test", config.features),
    ):
        batch = getattr(problem, name)
        x = jnp.take(batch.x, irrelevant, axis=1) / config.noise_scale
        for values, mean in (
            (x, 0.0),
            (x**2, 1.0),
            (x**4, KURTOSIS[law]),
            (x[0] * x[1], 0.0),
            (batch.y, 0.0),
        ):
            got.append(jnp.mean(values))
            want.append(jnp.asarray(mean))
            error.append(jnp.std(values) / values.size**0.5 + 1e-9)
    return tuple(map(jnp.stack, (got, want, error)))


@check("moved: along v~ in the relevant group alone", material.PAPER, "equal")
def moves_along(key: Array, config: Config) -> Compared:
    """Labels, and everything orthogonal to v~ in group j*, stay.

    Along v~, |u| becomes |u| + gamma, so that y u >= gamma.
    """
    problem, _ = material.case(key, config)
    v, star, batch = problem.downstream_truth, model.relevant(config), problem.downstream
    after = data.moved(batch, problem, config)
    u = jnp.einsum("a,ajn->jn", v, batch.x)
    far = jnp.where(star[:, None] > 0, batch.y[None] * (jnp.abs(u) + config.margin), u)
    want = batch.x + v[:, None, None] * (far - u)[None]
    sides = jnp.sign(jnp.einsum("a,ajn,j->n", v, after.x, star))
    return after, Batch(want, sides, batch.weight)
