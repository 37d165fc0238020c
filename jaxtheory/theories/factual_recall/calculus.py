"""The gradient of the loss in closed form."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.theories.factual_recall import model
from jaxtheory.theories.factual_recall.model import Batch, Config, Params, Problem, Scores, Table


def gradient(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """The gradient of L.

    With g = softmax(f) - e_{a*}, M = Phi W E and B_v = E c_v g,

    dL/dM_v = u_v B_v,   dL/du_v = <M_v, B_v>,   dL/dW = Phi^T (dL/dM) E^T
    """
    M = model.table(params, problem)
    B = pulled(jnp.exp(model.log_probabilities(params, batch, problem, config)), batch, config)
    du = Scores(*(jnp.sum(m * b, axis=(0, 1)) for m, b in zip(M, B, strict=True)))
    dM = Table(*(b * u[None, None, :] for b, u in zip(B, params.u, strict=True)))
    if isinstance(params.W, Table):
        return Params(dM, du)
    e = problem.embedding
    inner = sum(m @ E for m, E in zip(dM, (e.subject, e.relation, e.noise), strict=True))
    return Params(jnp.einsum("qad,qae->de", e.answer, inner), du)


def pulled(p: Float[Array, "S R n A"], batch: Batch, config: Config) -> Table:
    """B_v = E c_v (p - e_{a*}) of each token v, for probabilities p of the answers."""
    R, D = Size.wrap(config.num_relations).cap, Size.wrap(config.num_answers).cap
    right = model.targets(batch, config)[:, :, None, :]
    g = batch.weight[..., None] * (p - right.astype(p.dtype))
    N = batch.counts.shape[3]
    noise = batch.counts.reshape(-1, N).T @ g.reshape(-1, R * D)
    blocks = jnp.sum(g, axis=(1, 2)), jnp.sum(g, axis=(0, 2)), noise
    return Table(*(block.T.reshape(R, D, -1) for block in blocks))
