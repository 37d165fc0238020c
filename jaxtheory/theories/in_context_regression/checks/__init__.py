"""Independent derivations of every closed form, and the small configs on which all checks run.

There is one file of derivations for each kind of thing that they check.
"""

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.in_context_regression.checks import data, laws, model, training
from jaxtheory.theories.in_context_regression.model import Config

CHECKS = checks_of(data, model, laws, training)

EXAMPLES = (
    Config(dimension=2, length=3, heads=3, num_prompts=4),
    Config(
        dimension=3,
        length=1,
        heads=2,
        rank=2,
        num_prompts=3,
        spectrum=0.0,
        in_weight_share=0.5,
        start="aligned",
    ),
    Config(
        dimension=2,
        length=2,
        heads=2,
        num_prompts=3,
        form="merged",
        total_variance=2.5,
        spectrum=-1.0,
        start="aligned",
    ),
    Config(dimension=1, length=4, heads=1, num_prompts=2, form="literal", in_weight_share=1.0),
    Config(dimension=2, length=2, heads=2, num_prompts=3, form="literal").pad(
        dimension=3, length=4, heads=3, rank=2, num_prompts=5
    ),
    Config(dimension=2, length=3, heads=4, num_prompts=4, start="aligned", spectrum=2.0).pad(
        dimension=4, heads=5, length=5, num_prompts=6
    ),
)
