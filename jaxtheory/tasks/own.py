"""A task of a researcher's own arrays: sequences of tokens or vectors, with classes or numbers."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core import config as fields
from jaxtheory.core.arrays import FLOATS, INTEGERS, read_arrays
from jaxtheory.core.config import Size, size
from jaxtheory.core.task import Task
from jaxtheory.ops import draws
from jaxtheory.texts.errors import InputError, suggest

_MEANINGS = {  # kind -> the docstring of its metrics
    "classification": """Metrics on the test sequences.

    loss        cross-entropy of the class, nats
    accuracy    share of answers whose largest output is that of the class
    """,
    "regression": """Metrics on the test sequences.

    loss        1/2 mean (output - target)^2
    """,
}
KINDS = (*_MEANINGS,)


class Config(fields.Config):
    """The field of the data law: how many sequences a step sees."""

    batch_size: Size = size(32, "B", "distinct training sequences per step")


class Batch(NamedTuple):
    """Sequences, their targets, and the weights of their mean."""

    inputs: Array  # tokens [B, L], or vectors [B, L, d]
    targets: Array  # [B], or [B, L] where every position has one
    weight: Float[Array, " B"]


class Problem(NamedTuple):
    """The training and the test sequences."""

    train: Batch
    test: Batch


def given(
    name: str,
    inputs: Any,
    targets: Any,
    kind: Literal["classification", "regression"] = "classification",
    *,
    test_inputs: Any = None,
    test_targets: Any = None,
) -> Task:
    """Return a task of your own arrays.

    Args:
        name: The name of the task.
        inputs: The sequences: integers [n, L], which are token ids from 0 on, or floats [n, L, d].
        targets: For each sequence the answer at its last position, shape [n], or an answer at every
            position, shape [n, L]. They are classes from 0 on, or numbers for a regression.
        kind: "classification", with the cross-entropy as the loss, or "regression", with
            1/2 (output - target)^2.
        test_inputs: Sequences for the test metrics, in the same form; None for the training ones.
        test_targets: Their targets.

    Returns:
        The task. Its config has one field, `batch_size` (B). The metrics are loss and, for a
        classification, accuracy; the optimum is not known.

    Raises:
        InputError: The arrays do not fit each other, or the kind is unknown.

    Example:
        >>> import jaxtheory
        >>> task = jaxtheory.tasks.given("parity", [[0, 1], [1, 1], [1, 0], [0, 0]], [1, 0, 1, 0])
        >>> task.vocabulary(task.Config(batch_size=4)), task.outputs(task.Config(batch_size=4))
        (2, 2)
    """
    if kind not in KINDS:
        raise InputError(f"kind = {kind!r}; {suggest(str(kind), KINDS)}")
    if (test_inputs is None) != (test_targets is None):
        raise InputError("test_inputs and test_targets: give both, or neither")
    tokens = np.asarray(inputs).dtype.kind in "iub"
    of_inputs = (INTEGERS, "n L") if tokens else (FLOATS, "n L d")
    of_tests = (of_inputs[0], of_inputs[1].replace("n", "tests", 1))
    shape = "n L" if np.ndim(targets) == 2 else "n"
    numbers = INTEGERS if kind == "classification" else FLOATS
    arrays, sizes = read_arrays(
        {
            "inputs": (inputs, *of_inputs),
            "targets": (targets, numbers, shape),
            "test_inputs": (test_inputs, *of_tests),
            "test_targets": (test_targets, numbers, shape.replace("n", "tests", 1)),
        }
    )
    vocabulary = _count(arrays, "inputs") if tokens else None
    classes = _count(arrays, "targets") if kind == "classification" else None
    train = _batch(arrays["inputs"], arrays["targets"])
    test = train if test_inputs is None else _batch(arrays["test_inputs"], arrays["test_targets"])
    n = sizes["n"]

    def sample(key: Array, problem: Problem, config: Config) -> Batch:
        """Draw B distinct training sequences."""
        B = Size.wrap(config.batch_size)
        if B.cap > n:
            raise InputError(
                f"batch_size (B) = {B.cap}: must be in [1, {n}], the number of given sequences"
            )
        chosen = draws.distinct(key, n, B.cap)
        return Batch(problem.train.inputs[chosen], problem.train.targets[chosen], B.weights())

    def loss(outputs: Any, batch: Batch, _problem: Any, _config: Config) -> Float[Array, ""]:
        """The mean loss over sequences, and over positions where every position has a target."""
        return _loss(outputs, batch, classes)

    def metrics(outputs: Any, _maps: Any, problem: Problem, _config: Config) -> dict[str, Any]:
        """Return loss and, for a classification, accuracy on the test sequences."""
        predictions, test = outputs(problem.test), problem.test
        measured = {"loss": _loss(predictions, test, classes)}
        if classes is not None:
            shown = predictions if test.targets.ndim == 2 else predictions[:, -1:]
            right = jnp.argmax(shown, axis=2).astype(jnp.int32) == test.targets.reshape(
                len(test.targets), -1
            )
            share = jnp.mean(right.astype(test.weight.dtype), axis=1)
            measured["accuracy"] = jnp.sum(test.weight * share)
        return measured

    metrics.__doc__ = _MEANINGS[kind]
    return Task(
        name,
        Config,
        problem=lambda key, config: Problem(train, test),
        sample=sample,
        inputs=lambda batch, problem, config: batch.inputs,
        loss=loss,
        outputs=lambda config: 1 if classes is None else classes,
        vocabulary=lambda config: vocabulary,
        metrics=metrics,
    )


def _count(arrays: dict[str, Any], name: str) -> int:
    """The largest integer plus one of an array and its test array, at least 2."""
    pair = [np.asarray(x) for x in (arrays[name], arrays[f"test_{name}"]) if x is not None]
    least = min(int(x.min()) for x in pair)
    if least < 0:
        raise InputError(f"{name} holds {least}, expected integers from 0 on")
    return max(2, 1 + max(int(x.max()) for x in pair))


def _batch(inputs: Array, targets: Array) -> Batch:
    """All sequences with equal weights."""
    return Batch(inputs, targets, Size(len(targets)).weights())


def _loss(outputs: Float[Array, "B L n"], batch: Batch, classes: int | None) -> Float[Array, ""]:
    """The weighted mean of the loss over sequences, of its mean over positions."""
    shown = outputs if batch.targets.ndim == 2 else outputs[:, -1:]
    targets = batch.targets.reshape(len(batch.targets), -1)
    if classes is None:
        losses = (shown[:, :, 0] - targets) ** 2 / 2
    else:
        law = jax.nn.log_softmax(shown, axis=2)
        losses = -jnp.take_along_axis(law, targets[:, :, None], axis=2)[:, :, 0]
    return jnp.sum(batch.weight * jnp.mean(losses, axis=1))
