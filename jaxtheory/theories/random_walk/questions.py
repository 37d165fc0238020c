"""Two question-answering tasks over 19 words: sentences with the answer as label.

    qa1  Based on the list a_1 .. a_5 which type of fruit appears most frequently    a_i fair and independent; the answer is the majority
    qa2  Based on the sentence I prefer an A to an B which type of fruit do I prefer  A fair, B the other fruit; the answer is A

The plain average of the tokens tells the answer of qa1 and nothing about that of qa2.

Source: "Towards Understanding Transformers in Learning Random Walks", question answering. That B differs from A is reconstructed.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

VOCABULARY = tuple("apple orange Based on the which type of fruit list appears most frequently sentence I prefer an to do".split())
SENTENCES = {
    "qa1": tuple("Based on the list ? ? ? ? ? which type of fruit appears most frequently".split()),
    "qa2": tuple("Based on the sentence I prefer an ? to an ? which type of fruit do I prefer".split()),
}


def sentences(coins: Bool[Array, "B N"], task: str) -> tuple[Int[Array, "B N"], Int[Array, " B"]]:
    """Word indices (B, N), zero from the query on, and the fruits that answer (B,). A fruit is orange (1) where its coin shows True.

    Coins are read at the slots of the sentence; qa2 reads the first slot only and fills the second with the other fruit.
    """
    words = SENTENCES[task]
    slots = [j for j, word in enumerate(words) if word == "?"]
    fruits = coins[:, np.array(slots)].astype(jnp.int32)
    if task == "qa2":
        fruits = jnp.stack([fruits[:, 0], 1 - fruits[:, 0]], axis=1)
    y = fruits[:, 0] if task == "qa2" else (2 * jnp.sum(fruits, axis=1) > len(slots)).astype(jnp.int32)
    fixed = np.zeros(coins.shape[1], np.int32)
    fixed[: len(words)] = [0 if word == "?" else VOCABULARY.index(word) for word in words]
    return jnp.broadcast_to(jnp.asarray(fixed)[None, :], coins.shape).at[:, np.array(slots)].set(fruits), y
