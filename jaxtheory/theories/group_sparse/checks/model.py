"""Checks of the layer."""

import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.group_sparse import model
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Config


@check("encodings: orthogonal, of squared norm (D+1)/2", "derived (DST-I)", "equal")
def sines_orthogonal(_key: Array, config: Config) -> Compared:
    """P^T P = rho I with rho = (D + 1) / 2 on the true D, and P entry by entry."""
    P, D = model.encodings(config), config.num_groups
    square = (jnp.asarray(D.real, float) + 1) / 2 * jnp.diag(D.mask().astype(float))
    if not material.is_unpadded(config):
        return P.T @ P, square
    return (P.T @ P, P), (square, literal.sines(D.cap))


@check("attend: token by token", material.PAPER, "equal")
def attention_by_token(key: Array, config: Config) -> Compared:
    """S and f from [X; P] and the whole W."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    x = problem.train.x
    S = literal.attention(literal.assemble(params)[1], literal.tokens(x))
    got = jnp.moveaxis(model.attend(params, x, config), 2, 0), model.output(params, x, config)
    return got, (S, literal.output(params, x))
