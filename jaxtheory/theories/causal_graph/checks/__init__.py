"""Independent derivations of the closed forms, and the small configs on which all checks run."""

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.causal_graph.checks import data, laws, model, training
from jaxtheory.theories.causal_graph.model import Config

CHECKS = checks_of(data, model, laws, training)

EXAMPLES = (
    Config(num_states=3, length=5, num_prompts=6),
    Config(num_states=2, length=6, num_prompts=4, graph="tree", query="graph", first="uniform"),
    Config(num_states=2, length=2, num_prompts=9, initial_scale=0.5),
    Config(num_states=2, length=5, num_prompts=3, graph="pairs", prompts="fresh"),
    Config(num_states=2, length=4, num_prompts=3, initial_scale=0.3).pad(
        num_states=3, length=6, num_prompts=5
    ),
)
