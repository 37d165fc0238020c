"""Independent derivations of every closed form, one file for each file that they check.

The small configs on which all checks run are here too.
"""

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.attention_pruning.checks import baselines, calculus, laws, pruning, training
from jaxtheory.theories.attention_pruning.model import Config

CHECKS = checks_of(calculus, laws, training, pruning, baselines)

EXAMPLES = (
    Config(dimension=6, length=8, num_sequences=3, rank=2),
    Config(dimension=3, length=1, rank=3, momentum=0.0, pruning_ratio=0.0),
    Config(dimension=8, length=5, rank=2, logit_scale=12.5, regularization=0.1).replace(
        attention="block", clip=True, mask_init="uniform", ranking="magnitude_mask"
    ),
    Config(
        dimension=8,
        length=3,
        num_sequences=2,
        rank=8,
        logit_scale=1.0,
        regularization=1e-3,
        attention="full",
        mask_init="half",
    ),
)
