"""The standard Transformer on a task, as a theory with a config of its sizes and options."""

import functools
import importlib
from collections.abc import Callable
from typing import Any, no_type_check

import optax

from jaxtheory.core.config import Size, fields, size, static, traced
from jaxtheory.core.task import Task
from jaxtheory.core.theory import Theory
from jaxtheory.networks import optimizer
from jaxtheory.networks.from_flax import TASK_EXPECTED, from_flax
from jaxtheory.texts.errors import InputError


def transformer_config(task: Any) -> Any:
    """Return the config class of the standard Transformer on a task.

    It has the fields of the task, the attributes of `jaxtheory.networks.Transformer`, and those of
    the optimizers: the learning rate `rate`, its `warmup` in steps, the step `horizon` at which its
    cosine schedule is at 0, `weight_decay`, which only matrices have, and `clip_norm`, the largest
    norm of a gradient.

    Args:
        task: The task, a `jaxtheory.Task`.

    Returns:
        A subclass of the config class of the task, the same for each call.

    Raises:
        InputError: `task` is not a task, or its config has a field of the same name.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> task = jaxtheory.Task(
        ...     "walk", random_walk.Config, random_walk.problem, random_walk.sample,
        ...     inputs=lambda batch, problem, config: batch.s,
        ...     loss=lambda outputs, batch, problem, config: outputs.mean(),
        ...     outputs=lambda config: config.num_states.cap,
        ...     vocabulary=lambda config: config.num_states.cap)
        >>> jaxtheory.networks.transformer_config(task)(num_states=6, width=16).width.n
        16
    """
    if not isinstance(task, Task):
        known = f"task = {task!r}" if isinstance(task, str) else f"task is a {type(task).__name__}"
        raise InputError(f"{known}, {TASK_EXPECTED}")
    return _config_of(task.name, task.Config, task.vocabulary, task.outputs)


@functools.cache
def _config_of(name: str, base: Any, vocabulary: Callable, outputs: Callable) -> Any:
    @no_type_check  # a class cannot be typed as a subclass of a value
    def build() -> Any:
        class TransformerConfig(base):
            """Fields of the task, of the Transformer and of its optimizers."""

            depth: Size = size(2, "depth", "layers")
            heads: Size = size(4, "heads", "attention heads of a layer")
            width: Size = size(32, "width", "length of the residual stream")
            mlp_ratio: Size = size(4, "mlp_ratio", "hidden units of the MLP over width")
            mlp: str = static("gelu", "mlp", "activation of the MLP", ("gelu", "relu", "none"))
            norm: str = static(
                "pre-layernorm",
                "norm",
                "normalization",
                ("pre-layernorm", "post-layernorm", "rmsnorm", "none"),
            )
            positions: str = static(
                "learned",
                "positions",
                "positional code",
                ("learned", "sinusoidal", "rotary", "none"),
            )
            softmax: bool = static(
                True, "softmax", "softmax attention; False for linear attention", (True, False)
            )
            residual: bool = static(True, "residual", "residual stream", (True, False))
            tied: bool = static(
                False, "tied", "output weights are those of the embedding", (False, True)
            )
            causal: bool = static(True, "causal", "no attention to later positions", (True, False))
            rate: float = traced(0.003, "rate", "largest learning rate", "(0, inf)")
            warmup: int = traced(10, "warmup", "steps of linear warm-up", "[0, inf)", "steps")
            horizon: int = traced(
                1000, "horizon", "step at which the cosine schedule is at 0", "[1, inf)", "steps"
            )
            weight_decay: float = traced(
                0.0001, "wd", "weight decay of AdamW, on matrices only", "[0, inf)"
            )
            clip_norm: float = traced(1.0, "clip_norm", "largest norm of a gradient", "(0, inf)")

            def violations(self) -> list[str]:
                """Conditions between fields."""
                decoder = importlib.import_module("jaxtheory.networks.decoder")
                network = module(self, outputs(self), vocabulary(self))
                return [*super().violations(), *decoder.misfits(network)]

        return TransformerConfig

    own = "depth heads width mlp_ratio mlp norm positions softmax residual tied causal rate warmup"
    used_names = {x for f in fields(base).values() for x in (f.name, f.symbol)}
    for field in (*own.split(), "horizon", "weight_decay", "wd", "clip_norm"):
        if field in used_names:
            raise InputError(
                f"the config of the task {name} has a field {field}, which is a field of the "
                "Transformer; choose another name in the task"
            )
    return build()


def module(config: Any, outputs: int, vocabulary: int | None) -> Any:
    """Return the Transformer of a config."""
    decoder = importlib.import_module("jaxtheory.networks.decoder")
    return decoder.Transformer(
        outputs=outputs,
        vocabulary=vocabulary,
        depth=config.depth.cap,
        heads=config.heads.cap,
        width=config.width.cap,
        mlp_ratio=config.mlp_ratio.cap,
        mlp=config.mlp,
        norm=config.norm,
        positions=config.positions,
        softmax=config.softmax,
        residual=config.residual,
        tied=config.tied,
        causal=config.causal,
    )


def sgd(config: Any) -> optax.GradientTransformation:
    """Return plain gradient descent at the constant rate."""
    return optax.sgd(config.rate)


def transformer(task: Any, *, examples: tuple = ()) -> Theory:
    """Return the theory of the standard Transformer on a task.

    Its algorithms are `adamw`, with warm-up, a cosine schedule, weight decay of matrices and
    clipping, as `jaxtheory.networks.adamw`, and `sgd`, plain gradient descent.

    Args:
        task: The task, a `jaxtheory.Task`.
        examples: Small configs on which `verify` runs. By default there is one, the default config.

    Returns:
        A theory named after the task, whose config class is that of `transformer_config`.

    Raises:
        InputError: `task` is not a task, or does not fit a Transformer.

    Example:
        >>> import jax.numpy as jnp, optax, jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> task = jaxtheory.Task(
        ...     "walk", random_walk.Config, random_walk.problem, random_walk.sample,
        ...     inputs=lambda batch, problem, config: batch.s,
        ...     loss=lambda outputs, batch, problem, config: jnp.sum(
        ...         batch.weight * optax.softmax_cross_entropy_with_integer_labels(
        ...             outputs[:, -1], batch.y)),
        ...     outputs=lambda config: config.num_states.cap,
        ...     vocabulary=lambda config: config.num_states.cap)
        >>> theory = jaxtheory.networks.transformer(task)
        >>> config = theory.Config(length=5, B=8, width=8, heads=2, depth=1)
        >>> run = jaxtheory.simulate(theory, config, jaxtheory.run_key(0, 0), steps=2)
        >>> run.metrics["loss"].shape
        (3,)
    """
    config_type = transformer_config(task)

    def network(config: Any) -> Any:
        from jaxtheory.networks.decoder import Transformer  # noqa: F401  (so that it is hashed)

        return module(config, task.outputs(config), task.vocabulary(config))

    def adamw(config: Any) -> optax.GradientTransformation:  # hashed with the module of its rule
        return optimizer.adamw(
            config.rate,
            warmup=config.warmup,
            horizon=config.horizon,
            weight_decay=config.weight_decay,
            clip_norm=config.clip_norm,
        )

    rules = {"adamw": adamw, "sgd": sgd}
    name = f"{task.name}_transformer"
    return from_flax(
        name, network, task, optimizer=rules, Config=config_type, examples=tuple(examples)
    )
