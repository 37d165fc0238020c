"""A Transformer by hand: one head reads the parent of a walk, the other one has no effect."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory import networks, tasks
from jaxtheory.theories.random_walk import data as walks

K, N, P = 6, 9, 0.7  # states, length, probability of a clockwise step
PARENT = N - 2  # the place of the last state
THEORY = networks.transformer(tasks.random_walk)
CONFIG = THEORY.Config(
    num_states=K,
    length=N,
    num_sequences=8,
    num_test=64,
    clockwise_probability=P,
    depth=1,
    heads=2,
    width=32,
    mlp="none",
    norm="none",
    residual=False,
)
PROBLEM = THEORY.problem(jaxtheory.run_key(0, 0), CONFIG)
LOGITS = np.full((K, K), -5.0)  # of the next state, by the present one
LOGITS[np.arange(K), (np.arange(K) + 1) % K] = np.log(P)
LOGITS[np.arange(K), (np.arange(K) - 1) % K] = np.log(1 - P)


def built():
    """Parameters with a head that reads the parent, and another one without any effect.

    Tokens are one-hot in the entries 0 to K of the stream, positions in K + 1 to K + N. Query i of
    head 0 asks for position i - 1, whose state it copies.
    """
    random = np.random.default_rng(4)
    zero = THEORY.init(jax.random.key(0), PROBLEM, CONFIG)
    params = jax.tree.map(lambda x: np.zeros(x.shape), zero["params"])
    token, place = np.eye(32)[: K + 1], np.eye(32)[K + 1 : K + 1 + N]
    params["embed"]["embedding"], params["positions"] = token, place
    layer = params["attention_0"]
    for name in ("query", "key", "value"):
        layer[name]["kernel"][:, 16:] = random.normal(size=(32, 16))
    layer["query"]["kernel"][K + 2 : K + 1 + N, : N - 1] = 200 * np.eye(N - 1)
    layer["key"]["kernel"][K + 1 : K + 1 + N, :N] = np.eye(N)
    layer["value"]["kernel"][: K + 1, : K + 1] = np.eye(K + 1)
    layer["out"]["kernel"][:16, :16] = np.eye(16)
    params["head"]["kernel"][:K] = LOGITS
    return jax.tree.map(lambda x: jnp.asarray(x, float), {**zero, "params": params})


PARAMS = built()
PARENTS = np.asarray(PROBLEM.test.s)[:, PARENT]
LAW = np.asarray(walks.label_law(PROBLEM.test, CONFIG))


def loss_of(logits):
    """The mean cross-entropy of logits [B, K] under the true law."""
    logits = np.asarray(logits, float)
    return float(-np.mean(np.sum(LAW * (logits - jax.nn.logsumexp(logits, 1, keepdims=True)), 1)))


PLAIN = loss_of(LOGITS[PARENTS])
MEAN = loss_of(np.broadcast_to(LOGITS[PARENTS].mean(0), (len(PARENTS), K)))


def under(*interventions):
    measures = networks.intervene(THEORY, *interventions).metrics(PARAMS, PROBLEM, CONFIG)
    return float(measures["loss"])
