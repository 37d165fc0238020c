"""One-nearest-neighbor prediction in context: does softmax attention, trained from zero, select
the nearest example?
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.nearest_neighbor import (
    calculus,
    checks,
    data,
    given,
    model,
    predictions,
    training,
)
from jaxtheory.theories.nearest_neighbor.model import Config as Config

# With 2000 steps, the numbers of the source that are known; d, N, eta and sigma are lost.
PAPER = Config(num_prompts=10000)

THEORY = Theory(
    name="nearest_neighbor",
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
