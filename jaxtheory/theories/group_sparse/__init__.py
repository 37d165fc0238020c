"""Group-sparse classification by one softmax layer: when does attention select the group that
matters, and what is that worth?
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.group_sparse import (
    calculus,
    checks,
    data,
    given,
    model,
    predictions,
    training,
)
from jaxtheory.theories.group_sparse.model import Config as Config

LARGE = Config()
SMALL = Config(group_dim=2, num_groups=4, num_samples=200)

THEORY = Theory(
    name="group_sparse",
    Config=Config,
    problem=data.problem,
    sample=data.sample,
    init=model.init,
    loss=model.loss,
    gradient=calculus.gradient,
    algorithms=training.ALGORITHMS,
    metrics=predictions.metrics,
    predict=predictions.predict,
    assumptions=predictions.assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
