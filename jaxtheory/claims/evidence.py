"""Evidence that at least a share of all replicates satisfies a bound.

A replicate is a whole experiment with a seed of its own, and S the probability that one satisfies
the bound. Whether it does is a coin, whatever the law of its numbers. After n replicates, of which
s satisfy it, the evidence for S > q is

    E(s, n; q) = 1/2 [s = n] q^-n + 1/2 1/(1 - q) int_q^1 (p/q)^s ((1 - p)/(1 - q))^(n - s) dp.

Each replicate multiplies each term by a factor whose mean is at most 1 if S <= q. So E, which
starts at 1, is a nonnegative supermartingale, and it ever reaches 100 with probability at most
1/100 (Ville), however often one looks and however many replicates are added. With 1 - S and 1 - q
it is the evidence for S < q. Only one of the two can be false.
"""

import functools

import numpy as np
from scipy import special  # the functions behind scipy.stats, which takes longer to import

ENOUGH = 100.0  # the evidence at which a bound holds or fails; 1 / ENOUGH is the chance of an error


def log_evidence(s: int, n: int, q: float) -> float:
    """Return log E(s, n; q), the logarithm of the evidence that S > q; -inf if it is too small.

    Args:
        s: number of replicates that satisfy the bound, 0 to n.
        n: number of replicates.
        q: share of all replicates, in (0, 1).

    Example:
        >>> import math
        >>> from jaxtheory.claims.evidence import log_evidence
        >>> round(math.exp(log_evidence(8, 8, 0.5)))
        156
    """
    tail = float(special.betainc(n - s + 1, s + 1, 1 - q))  # of Beta(s + 1, n - s + 1), above q
    mixed = -np.inf
    if tail > 0:
        constant = special.betaln(s + 1, n - s + 1) - s * np.log(q) - (n - s + 1) * np.log1p(-q)
        mixed = constant + np.log(tail)
    agreed = -n * np.log(q) if s == n else -np.inf
    return float(np.logaddexp(mixed, agreed) - np.log(2))


@functools.lru_cache(4096)
def least_successes(n: int, q: float, enough: float = ENOUGH) -> int:
    """Return the smallest s with E(s, n; q) >= enough; n + 1 if there is none.

    Args:
        n: number of replicates.
        q: share of all replicates, in (0, 1).
        enough: the evidence that is asked for.

    Example:
        >>> from jaxtheory.claims.evidence import least_successes
        >>> [least_successes(n, 0.5) for n in (7, 8, 16, 32)]
        [8, 8, 15, 26]
    """
    low, high = 0, n + 1  # E increases with s
    while low < high:
        middle = (low + high) // 2
        if log_evidence(middle, n, q) >= np.log(enough):
            high = middle
        else:
            low = middle + 1
    return low
