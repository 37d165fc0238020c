"""Check of a metric: the distance from the six-number form."""

from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.group_sparse import predictions
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Config


@check("structure: residual of least squares", "derived", "equal")
def structure_nearest(key: Array, config: Config) -> Compared:
    """a, b and the residual against least squares."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    numbers, off = literal.least_squares(
        literal.assemble(params)[1], literal.form_of(problem, config)
    )
    return predictions.structure(params, problem, config), (numbers[0], numbers[1], off)
