"""Independent derivations of every closed form, and the small configs on which all checks run.

There is one file for each kind of thing that they check.
"""

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.task_diversity.checks import data, laws, model, training
from jaxtheory.theories.task_diversity.model import Config

CHECKS = checks_of(data, model, laws, training)

EXAMPLES = (
    Config(dimension=2, length=2, num_prompts=9, num_tasks=3, noise_variance=0.25),
    Config(dimension=3, length=1, num_prompts=5, num_tasks=2, ridge=0.2, learning_rate=0.1),
    Config(dimension=2, length=2, num_prompts=3, num_tasks=4, tasks="fresh", noise_variance=0.0),
    Config(dimension=1, length=3, num_prompts=4, num_tasks=2, ridge=0.5),
    Config(dimension=2, length=2, num_prompts=3, num_tasks=3).pad(
        dimension=3, length=4, num_prompts=5, num_tasks=5
    ),
    Config(dimension=2, length=3, num_prompts=9, num_tasks=2, tasks="fresh", ridge=0.1).pad(
        dimension=3, length=5, num_prompts=11, num_tasks=3
    ),
)
