"""Independent derivations of every closed form, and the small configs on which all checks run.

There is one file of derivations for each file that they check.
"""

from jaxtheory.core.theory import checks_of
from jaxtheory.theories.low_rank.checks import (
    attention,
    calculus,
    data,
    laws,
    model,
    neurons,
    pruning,
    ranks,
    training,
)
from jaxtheory.theories.low_rank.model import Config

_FILES = (model, data, calculus, laws, training, attention, pruning, ranks, neurons)
CHECKS = checks_of(*_FILES)

_SMALL = Config(
    num_patterns=5,
    dimension=5,
    query_dim=4,
    value_dim=5,
    num_relevant=3,
    num_confusion=1,
    num_neurons=6,
    batch_size=4,
    num_samples=12,
    num_test=8,
    init_diagonal=0.4,
    output_scale=0.7,
)
EXAMPLES = (
    _SMALL.replace(label_noise=0.2),
    _SMALL.replace(
        query_dim=5,
        value_dim=4,  # below the dimension, with patterns in every coordinate
        num_confusion=2,
        output="per_token",
        num_queries=3,
        noise_law="bounded",
        coherence=0.5,
    ),
    _SMALL.replace(
        num_relevant_patterns=4,
        num_classes=3,
        dimension=6,
        value_dim=6,
        num_confusion=2,
        num_irrelevant_each=2,
        task="multiclass",
        num_heads=2,
        overlap=0.4,
        counts="random",
        labels="random",
        output="per_token",
    ),
    _SMALL.replace(
        num_relevant_patterns=4,
        num_relevant=4,
        num_confusion=2,
        occurrence="together",
        noise_law="unit",
        num_layers=2,
        num_heads=2,
        lora_rank=1,
    ),
    _SMALL.replace(
        num_patterns=3,
        num_relevant_patterns=3,
        num_classes=3,
        dimension=3,
        query_dim=2,
        value_dim=2,
        num_relevant=2,
        num_confusion=0,
        num_irrelevant_each=0,
        task="multiclass",
        noise=0.0,
        truncation_rank=1,
        value_ratio=2.0,
    ),
)
