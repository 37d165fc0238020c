"""The random-walk transformer in plain NumPy: one-hot matrices, one sequence at a time, sums
written out, float64.

A sequence is a row of N states; the first N - 1 are read, the last is the label y. With P the
orthogonal sines,

    X = [e_{s_1} .. e_{s_{N-1}} 0] (K, N)    Xt = [X; P] (K+M, N)    S = softmax(Xt^T W xt_N)    f =
                                                                     V X S  L = mean ell(f_y).

Slow on purpose and written from the definitions alone, so that agreement with the library means
something.
Source: random walks on a circle, model and algorithm of the first theorem; the sine encoding and
the MLP are reconstructed.
"""

import itertools
from collections.abc import Callable

import numpy as np

WORDS = (
    "apple orange Based on the which type of fruit list appears most frequently sentence I "
    "prefer an to do"
).split()


def transition(K: int, p: float) -> np.ndarray:
    """(K, K) Pi, Pi_ij = p if j = i + 1, 1 - p if j = i - 1 (mod K)."""
    Pi = np.zeros((K, K))
    for i in range(K):
        Pi[i, (i + 1) % K] += p
        Pi[i, (i - 1) % K] += 1 - p
    return Pi


def walks(K: int, N: int, p: float) -> list[tuple[tuple[int, ...], float]]:
    """Every walk of N states with its probability, by enumeration of starts and steps; walks of
    probability 0 are left out.
    """
    law = []
    for start in range(K):
        for steps in itertools.product((1, -1), repeat=N - 1):
            walk, weight = [start], 1 / K
            for step in steps:
                walk.append((walk[-1] + step) % K)
                weight *= p if step == 1 else 1 - p
            if weight > 0:
                law.append((tuple(walk), weight))
    return law


def questions(task: str) -> list[tuple[tuple[int, ...], float]]:
    """Every question of `task` in {"qa1", "qa2"} as word indices followed by the label, with its
    probability.
    """
    law = []
    if task == "qa1":
        for answers in itertools.product((0, 1), repeat=5):
            fruits = [WORDS[a] for a in answers]
            text = [
                "Based",
                "on",
                "the",
                "list",
                *fruits,
                *"which type of fruit appears most frequently".split(),
            ]
            law.append(((*[WORDS.index(word) for word in text], int(sum(answers) >= 3)), 1 / 32))
    else:
        for a in (0, 1):
            text = [
                *"Based on the sentence I prefer an".split(),
                WORDS[a],
                "to",
                "an",
                WORDS[1 - a],
            ]
            text += "which type of fruit do I prefer".split()
            law.append(((*[WORDS.index(word) for word in text], a), 1 / 2))
    return law


def encodings(N: int, M: int) -> np.ndarray:
    """(M, N) orthogonal sines p_i = (sin(i k pi / (M + 1)))_k for i = 1..N, of squared norm (M + 1)
    / 2.
    """
    P = np.zeros((M, N))
    for i in range(N):
        for k in range(M):
            P[k, i] = np.sin((i + 1) * (k + 1) * np.pi / (M + 1))
    return P


def one_hot(sequence: np.ndarray, K: int) -> np.ndarray:
    """(K, N) X: column j is e_{s_j}, the last column is zero (its state is the label)."""
    X = np.zeros((K, len(sequence)))
    for j, state in enumerate(sequence[:-1]):
        X[state, j] = 1.0
    return X


def keys(sequence: np.ndarray, K: int, P: np.ndarray, unit: bool) -> np.ndarray:
    """(K+M, N) Xt = [X; P], each column divided by its norm if `unit`."""
    Xt = np.vstack([one_hot(sequence, K), P])
    return Xt / np.sqrt((Xt**2).sum(axis=0)) if unit else Xt


def attention(W: np.ndarray, Xt: np.ndarray) -> np.ndarray:
    """(N,) softmax(Xt^T W xt_N)."""
    z = Xt.T @ W @ Xt[:, -1]
    e = np.exp(z - z.max())
    return e / e.sum()


def ell(name: str, m: float, eps: float) -> tuple[float, float]:
    """A loss of m = f_y and its derivative: -log(m + eps), (1 - m)^2 / 2 or max(0, 1 - m)."""
    if name == "log":
        return -np.log(m + eps), -1 / (m + eps)
    if name == "square":
        return (1 - m) ** 2 / 2, m - 1
    return max(0.0, 1 - m), -1.0 if m < 1 else 0.0


Params = tuple[np.ndarray, ...]  # (V, W), or (V, W, A) for the MLP


class Model:
    """Sizes and conventions of one model: what the functions below need beside parameters and data
    (B, N).
    """

    def __init__(
        self, K: int, N: int, M: int, *, eps: float = 0.1, loss: str = "log", unit: bool = False
    ):
        self.K, self.eps, self.loss_name, self.unit = K, eps, loss, unit
        self.P = encodings(N, M)
        self.rho = (M + 1) / 2

    def forward(self, params: Params, sequence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(f, S) of one sequence; f = V X S, or A relu(V X S) for the MLP."""
        V, W, *A = params
        S = attention(W, keys(sequence, self.K, self.P, self.unit))
        h = V @ one_hot(sequence, self.K) @ S
        return (A[0] @ np.maximum(h, 0) if A else h), S

    def loss(self, params: Params, data: np.ndarray) -> float:
        """Mean of ell(f_y) over sequences."""
        return float(
            np.mean(
                [ell(self.loss_name, self.forward(params, s)[0][s[-1]], self.eps)[0] for s in data]
            )
        )

    def gradient(self, params: Params, data: np.ndarray) -> Params:
        """The gradient in every matrix, by the chain rule through the softmax Jacobian diag S - S
        S^T of each sequence.
        """
        V, _W, *A = params
        total = [np.zeros_like(matrix) for matrix in params]
        for s in data:
            X, Xt, y = one_hot(s, self.K), keys(s, self.K, self.P, self.unit), s[-1]
            f, S = self.forward(params, s)
            df = np.zeros(self.K)
            df[y] = ell(self.loss_name, f[y], self.eps)[1]
            h = V @ X @ S
            dh = (A[0].T @ df) * (h > 0) if A else df
            dz = (np.diag(S) - np.outer(S, S)) @ (X.T @ V.T @ dh)
            total[0] += np.outer(dh, X @ S)
            total[1] += np.outer(Xt @ dz, Xt[:, -1])
            if A:
                total[2] += np.outer(df, np.maximum(h, 0))
        return tuple(matrix / len(data) for matrix in total)

    def descend(self, params: Params, data: np.ndarray, eta: float, steps: int) -> list[Params]:
        """Parameters at t = 0..steps: every matrix -= eta times its gradient at once,
        full batch.
        """
        path = [params]
        for _ in range(steps):
            path.append(
                tuple(
                    matrix - eta * slope
                    for matrix, slope in zip(path[-1], self.gradient(path[-1], data), strict=True)
                )
            )
        return path

    def norms(self) -> np.ndarray:
        """(N,) what divides each token: 1, or its norm sqrt(1 + rho), and sqrt(rho) for the last,
        which has no one-hot part.
        """
        N = self.P.shape[1]
        return np.sqrt([1 + self.rho] * (N - 1) + [self.rho]) if self.unit else np.ones(N)

    def scores(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(u, w) of the logits z_j = u_{s_j} + w_j (j < N), z_N = w_N: the two halves of W xt_N,
        one met by e_k, the other by p_j.
        """
        half = W[:, self.K :] @ self.P[:, -1] / self.norms()[-1]
        return half[: self.K] / self.norms()[0], self.P.T @ half[self.K :] / self.norms()

    def from_scores(self, u: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The W = [a; b] p_N^T in the span of the encodings with scores (u, w)."""
        a, b = u * self.norms()[0], self.P @ (w * self.norms()) / self.rho
        W = np.zeros((self.K + len(self.P),) * 2)
        W[:, self.K :] = (
            np.outer(np.concatenate([a, b]), self.P[:, -1]) * self.norms()[-1] / self.rho
        )
        return W


def predict(f: np.ndarray) -> int:
    """The smallest index whose entry is within 1e-9 max of the maximum."""
    return min(k for k in range(len(f)) if f[k] >= f.max() - 1e-9 * abs(f.max()))


def accuracy(
    outputs: list[np.ndarray], data: np.ndarray, law: Callable[[np.ndarray], np.ndarray]
) -> float:
    """Mean over sequences of the true probability of the predicted state; law(sequence) is the
    distribution of its label.
    """
    return float(np.mean([law(s)[predict(f)] for f, s in zip(outputs, data, strict=True)]))


def kl(
    outputs: list[np.ndarray],
    data: np.ndarray,
    law: Callable[[np.ndarray], np.ndarray],
    floor: float = 1e-12,
) -> float:
    """Mean over sequences of sum_k pi_k log(pi_k / q_k), q = max(f, 0) / sum, at least `floor`; q
    uniform where no f is positive.
    """
    total = 0.0
    for f, s in zip(outputs, data, strict=True):
        q = np.maximum(f, 0)
        q = q / q.sum() if q.sum() > 0 else np.full(len(f), 1 / len(f))
        total += sum(
            target * np.log(target / max(guess, floor))
            for target, guess in zip(law(s), q, strict=True)
            if target > 0
        )
    return total / len(data)


def direction(array: np.ndarray) -> np.ndarray:
    """array / ||array||, zero for a zero array."""
    norm = np.sqrt((array**2).sum())
    return array / norm if norm > 0 else array


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """|| a / ||a|| - b / ||b|| || over all entries."""
    return float(np.sqrt(((direction(a) - direction(b)) ** 2).sum()))


def attention_metrics(attentions: list[np.ndarray]) -> dict[str, float]:
    """Of the tokens 1..N-1: mean weight on the parent N - 1, lag of the largest mean, largest max -
    min; mean weight of the query.
    """
    mean = np.mean(attentions, axis=0)
    N = len(mean)
    best = min(j for j in range(N - 1) if mean[j] >= mean[:-1].max() * (1 - 1e-9))
    return {
        "parent_attention": float(mean[N - 2]),
        "query_attention": float(mean[N - 1]),
        "stray_attention": float(np.mean([sum(S[: N - 2]) + S[N - 1] for S in attentions])),
        "selected_lag": float(N - 1 - best),
        "attention_spread": float(max(S[:-1].max() - S[:-1].min() for S in attentions)),
    }


def metrics(
    model: Model,
    params: Params,
    data: np.ndarray,
    law: Callable[[np.ndarray], np.ndarray],
    p: float,
) -> dict[str, float]:
    """Everything measured on test sequences; law(sequence) is the true distribution of its label.
    Value metrics are for the walk.
    """
    outputs, attentions = zip(*[model.forward(params, s) for s in data], strict=True)
    V, _, *A = params
    value = A[0] @ np.maximum(V, 0) if A else V
    K = model.K
    ahead, behind = (sum(value[(k + step) % K, k] for k in range(K)) for step in (1, -1))
    ratio = ahead / behind if behind else ahead * np.inf if ahead else 1.0
    return {
        "accuracy": accuracy(outputs, data, law),
        "kl": kl(outputs, data, law),
        "output_error": float(
            np.mean([distance(f, law(s)) for f, s in zip(outputs, data, strict=True)])
        ),
        "output_gap": float(
            np.mean(
                [
                    np.linalg.norm(f / (np.linalg.norm(f) or 1) - law(s))
                    for f, s in zip(outputs, data, strict=True)
                ]
            )
        ),
        "value_direction_error": distance(value, transition(K, p).T),
        "value_direction_error_sqrt": distance(value, np.sqrt(transition(K, p)).T),
        "value_ratio": float(np.clip(ratio, -1e12, 1e12)),
        "value_spread": float((value.max() - value.min()) / (np.abs(value).max() or 1)),
        **attention_metrics(attentions),
    }
