"""Cost of an evaluation axis: nine pruning ratios against one, side by side in one process.

    python tests/benchmarks/evaluation_axis.py

Preset P3 of attention_pruning, record=[0, steps], one seed per device. A pair is (one value, nine
values), compiled beforehand. Printed are the median times and the median ratio of pairs. Nine
values train once, so the ratio should stay below 1.3.
"""

import statistics
import time

import jaxtheory
from jaxtheory.engine.threads import workers

PAIRS, STEPS = 5, 1500
RATIOS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


def seconds(ratios):
    theory = jaxtheory.theories.get("attention_pruning")
    begun = time.perf_counter()
    options = {"seeds": workers(), "steps": STEPS, "record": [0, STEPS], "dtype": "float32"}
    jaxtheory.sweep(theory, theory.Config(), vary={"rho": ratios}, **options)
    return time.perf_counter() - begun


def main():
    for ratios in (RATIOS[5:6], RATIOS):
        seconds(ratios)
    pairs = [(seconds(RATIOS[5:6]), seconds(RATIOS)) for _ in range(PAIRS)]
    one, nine = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    print(
        f"{workers()} side by side: one value {one:.2f} s, nine values {nine:.2f} s, ratio "
        f"{ratio:.2f} (at most 1.3)"
    )


if __name__ == "__main__":
    main()
