"""`make replicate`: are the library's numbers those of plain NumPy, written from the sources alone?

python tests/reference/replicate.py [THEORY ...] [--write]: a table on stdout; exit code 1 if a row
does not agree. --write (all theories) keeps the table in docs/verification.md.

A row agrees if the 99 % Student intervals of both means overlap and the difference of the means is
within the 99 % Welch interval of 0. Exact rows agree to 1e-12.
"""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "verification.md"
MARK = "<!-- replication -->"
LEVEL, EXACT = 0.99, 1e-12
NONE = "-"  # a number beside the claims


class Row(NamedTuple):
    """A statistic that both sides measure."""

    key: str  # of the scripts' results
    claim: str
    says: str
    exact: bool = False


SEEDS = {  # of the NumPy side, where they are not 12
    "random_walk": 8,
    "contextual_bigram": 20,
    "attention_pruning": 20,
    "group_sparse": 8,
}
ROWS = {
    "random_walk": (
        Row("RW-12", "RW-12", "v(1)/v(-1) = (p/(1-p))^a: a, four p"),
        Row("RW-15", "RW-16", "exponent of t, V against Pi^T, p = 0.5"),
        Row("RW-17", "RW-11", "the same at p = 0.7"),
        Row("RW-16", "RW-16", "V against sqrt(Pi^T), p = 0.7"),
        Row("RW-6", "RW-6", "exponent of t, gap of the output as printed"),
        Row("RW-9", "RW-9", "p in {0, 1}: distance of S, V, accuracy from uniform", True),
    ),
    "nearest_neighbor": (
        Row("NN-34", "NN-34", "query logit plus xi2"),
        Row("NN-35", "NN-35", "query logit less (xi1 - xi2)"),
        Row("NN-3", "NN-3", "exponent of t, xi1"),
        Row("NN-8", "NN-8", "exponent of t, 1 - s*"),
        Row("NN-9", "NN-9", "exponent of t, xi1 / xi2"),
    ),
    "contextual_bigram": (
        Row("CB-15", "CB-15", "rounded proximal run nearer than SGD, share"),
        Row("CB-15 A", "CB-15", "distance of rounded A, proximal less SGD"),
        Row("CB-15 V", "CB-15", "distance of best V, proximal less SGD"),
        Row("CB-3 A", "CB-3", "distance of A 200 steps after tau, proximal over SGD"),
        Row("CB-3 V", "CB-3", "distance of V 200 steps after tau, proximal over SGD"),
        Row("excess", NONE, "excess loss, proximal over SGD"),
        Row("CB-5", "CB-5", "distance from the line of alpha_A, SGD over proximal"),
        Row("CB-11", "CB-11", "alpha_A < 1 < alpha_V, proximal: margin"),
        Row("CB-11 product", "CB-11", "distance of alpha_A alpha_V from 1 over that margin"),
        Row("SGD", NONE, "alpha_V < 1 < alpha_A, SGD: margin"),
    ),
    "low_rank": (
        Row("LR-2", "LR-2", "cost of rank 1"),
        Row("LR-1", "LR-1", "largest cost of ranks 2 to 10"),
        Row("LR-3", "LR-3", "errors added by rank 1"),
        Row("LR-11", "LR-11", "log10 of s2/s3 of W_K at t = 20, 30"),
        Row("LR-13", "LR-13", "s2/s3 at t = 1, P1 and P1p"),
        Row("LR-14", "LR-14", "s2/s3 at t = 1, S1 and S1p"),
        Row("LR-7", "LR-7", "attention on relevant tokens, P1 and P1p less S1 and S1p"),
        Row("LR-17", "LR-17", "largest jump of the neurons' norms, S1 and S1p"),
        Row("LR-18", "LR-18", "share of small changes, S1 and S1p"),
        Row("P small", NONE, "share of small changes, P1 and P1p"),
    ),
    "attention_pruning": (
        Row("AP-13", "AP-13", "error of Wanda less SparseGPT, L = 128"),
        Row("AP-13 L", "AP-13", "the same, L = 256"),
        Row("AP-6 mask", "AP-6", "error of the mask at the best lambda, P2"),
        Row("AP-6", "AP-6", "that over the better of Wanda and SparseGPT"),
    ),
    "group_sparse": (
        Row("GS-19/20", "GS-19, GS-20", "exponent of D in the loss at t = 500"),
        Row("GS-21", "GS-21", "exponent of t in the loss, t >= 1000"),
        Row("GS-22", "GS-22", "norm of v1 over its law, t >= 1000"),
        Row("GS-44", "GS-44", "exponent of n in the direction error, t = 64"),
        Row("GS-27", "GS-27", "accuracy, W frozen less from scratch"),
    ),
    "in_context_regression": (
        Row("IR-1", "IR-1", "log10 of the largest distance of a pause from its level"),
        Row("IR-1 steps", "IR-1", "log10 of the steps to the middles before the pauses"),
        Row("IR-1 speed", "IR-1", "log10 of the slowest over the fastest fall, separate"),
        Row("IR-2", "IR-2", "the same, merged"),
        Row("IR-3", "IR-3", "largest distance from the logistic law, aligned start", True),
        Row("prompts", NONE, "test loss after descent on 2000 prompts, merged"),
    ),
    "causal_graph": (
        Row("CG-2", "CG-2", "attention to the parent after stage one, chain"),
        Row("CG-4", "CG-4", "share of the way from unigrams to the posterior mean"),
        Row("information", NONE, "correlation of the first gradient with the information, T = 16"),
        Row("CG-8", "CG-8", "first gradient at lag 2 over lag 1, T = 16"),
        Row("CG-13", "CG-13", "level of the counts less the loss at the end, β0 = 0.1"),
    ),
    "task_diversity": (
        Row("few", "TD-3, TD-6", "log10 of e_ICL over Result 1, τ = 0.4, d = 16"),
        Row("many", "TD-3, TD-6", "log10 of e_ICL over Result 1, τ = 1.5, d = 16"),
        Row("few in law", "TD-9", "log10 of e_IDG over e_ICL, τ = 0.4"),
        Row("many in law", "TD-9", "log10 of e_IDG over e_ICL, τ = 1.5"),
        Row("peak", "TD-5", "log10 of e_ICL at n = d²"),
        Row("stopped", "TD-17", "log10 of e_ICL at n = d² after 200 steps of descent, η = 0.5"),
    ),
    "factual_recall": (
        Row("half-way", "FR-7", "slope in log(1/α) of the time half-way to the plateau, over law"),
        Row("noise", "FR-5", "log10 of the score of noise over subjects, one prompt for each fact"),
        Row("reversed", "FR-11", "lead of the subject's answers, S = 4, R = 16"),
        Row("descent", "FR-14", "exponent in s of the step of recall, descent"),
        Row("Adam", "FR-15", "the same, Adam"),
        Row("stored", "FR-13", "share recalled for S R = d², random embeddings, d = 16"),
    ),
    "positional_semantic": (
        Row("semantic", "PS-4", "cosine of the semantic end with Q*, d = 64, α = 2"),
        Row("positional", "PS-1", "cosine of the positional end with p"),
        Row("error", "PS-3", "log10 of the test error of the semantic end"),
        Row("energy", "PS-10", "log of the energies' ratio, positional over semantic"),
    ),
}


class Mean(NamedTuple):
    """A mean over seeds with its 99 % interval."""

    mean: float
    half: float  # half the interval, 0 where all values are equal
    error: float  # standard error
    n: int

    @property
    def text(self) -> str:
        """For the table."""
        return f"{self.mean:.4g} ± {self.half:.2g} ({self.n})"


def mean_of(values: np.ndarray) -> Mean:
    """The mean of the finite values."""
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    n = len(finite)
    if n == 0:
        return Mean(np.nan, np.nan, np.nan, 0)
    error = finite.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * error if n > 1 else 0.0
    return Mean(finite.mean(), half, error, n)


def agree(one: Mean, other: Mean, exact: bool = False) -> bool:
    """True if both intervals overlap and the difference is within its Welch interval of 0. NaN
    never agrees, nor does a single value, unless the row is exact.
    """
    gap = abs(one.mean - other.mean)
    if exact:
        return bool(gap <= EXACT)
    variances = [m.error**2 for m in (one, other)]
    if not np.isfinite(gap) or min(one.n, other.n) < 2:
        return False
    if sum(variances) == 0:
        return bool(gap <= EXACT)
    degrees = sum(variances) ** 2 / sum(
        v**2 / (m.n - 1) for v, m in zip(variances, (one, other), strict=True)
    )
    welch = stats.t.ppf((1 + LEVEL) / 2, degrees) * np.sqrt(sum(variances))
    return bool(gap <= one.half + other.half and gap <= welch)


def script(theory: str):
    """The module of a theory in `replication`."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"tests.reference.replication.{theory}")


def in_numpy(theory: str) -> tuple[dict[str, np.ndarray], float]:
    """The statistics in NumPy, and the seconds they took."""
    start = time.monotonic()
    return script(theory).replicate(range(SEEDS.get(theory, 12))), time.monotonic() - start


def in_library(theory: str) -> tuple[dict[str, np.ndarray], float]:
    """The statistics of the library, and the seconds they took."""
    script(theory)  # sets the path
    start = time.monotonic()
    numbers = importlib.import_module("tests.reference.library_numbers").NUMBERS[theory]()
    return numbers, time.monotonic() - start


def compared(theory: str, library: dict, replica: dict) -> tuple[list[str], bool]:
    """The table's lines of a theory, and whether all agree."""
    lines, all_agree = [], True
    for row in ROWS[theory]:
        means = mean_of(library[row.key]), mean_of(replica[row.key])
        same = agree(*means, exact=row.exact)
        all_agree &= same
        texts = [f"{m.mean:.2g}" for m in means] if row.exact else [m.text for m in means]
        cells = theory, row.claim, row.says, *texts, "yes" if same else "**no**"
        lines.append("| " + " | ".join(cells) + " |")
    return lines, all_agree


def main(words: list[str], library: Callable = in_library, replica: Callable = in_numpy) -> int:
    """The table on stdout; 1 where a row does not agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("theories", nargs="*", metavar="THEORY", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--write", action="store_true", help="keep the table of all theories")
    arguments = parser.parse_args(words)
    if unknown := set(arguments.theories) - set(ROWS):
        parser.error(f"unknown theory {sorted(unknown)[0]}")
    if arguments.write and arguments.theories:
        parser.error("--write needs all theories")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    # one thread for NumPy, beside the library on the other core
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    lines = [
        "| theory | claim | statistic | library: mean ± 99 % (n) | NumPy: the same | agree |",
        "|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n", flush=True)
    all_agree, seconds = True, [0.0, 0.0]
    names = arguments.theories or list(ROWS)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        jobs = {name: pool.submit(replica, name) for name in names}
        for name in names:
            results = library(name), jobs[name].result()
            rows, same = compared(name, *(numbers for numbers, _ in results))
            print(*rows, sep="\n", flush=True)
            lines, all_agree = lines + rows, all_agree and same
            seconds = [total + used for total, (_, used) in zip(seconds, results, strict=True)]
    count = len(lines) - 2
    note = (
        f"{count} rows, of which {sum('**no**' in line for line in lines)} do not agree. With "
        f"{count} independent rows at 99 %, {count / 100:.1f} would disagree by chance."
    )
    print(note, f"Library {seconds[0]:.0f} s, NumPy {seconds[1]:.0f} s, side by side.", sep="\n")
    if arguments.write:
        before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
        text = "\n".join([*lines, "", note])
        PAGE.write_text(f"{before}{MARK}\n{text}\n{MARK}{after}", encoding="utf-8")
    return int(not all_agree)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
