"""Check of a metric: the distance from the six-number form."""

from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.group_sparse import predictions
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Config


def structure_nearest(key: Array, config: Config) -> Compared:
    """a, b and the residual against least squares."""
    if not material.whole(config):
        return None
    problem, params = material.case(key, config)
    numbers, off = literal.least_squares(
        literal.joined(params)[1], literal.form_of(problem, config)
    )
    return predictions.structure(params, problem, config), (numbers[0], numbers[1], off)


CHECKS = (Check("structure: residual of least squares", "derived", "equal", structure_nearest),)
