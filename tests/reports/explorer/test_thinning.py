"""What is kept of a variable that is too large: within the bound, by the rule, and said."""

import numpy as np
import pytest

from jaxtheory.reports.explorer.thinning import size, some_steps, thinned

STEPS = np.arange(1001)
WHOLE = {"eta": 10, "seed": 100, "step": 1001}


def kept(sizes, most, axes=("eta",)):
    found = thinned(sizes, axes, STEPS[: sizes.get("step", 1)], most)
    counts = {dim: len(at) for dim, at in found.places.items()}
    return found, counts, size(counts, sizes.get("seed", 1))


def test_what_fits_is_kept_whole():
    found, counts, entries = kept(WHOLE, 10 * 1001 * 104)
    assert counts == WHOLE and entries == 10 * 1001 * 104 and not found.notes


def test_steps_go_first_then_seeds():
    found, counts, _ = kept(WHOLE, 10 * 1001 * 104 - 1)
    assert counts["seed"] == 100 and 100 < counts["step"] <= 200 and counts["eta"] == 10
    assert found.notes == [f"step thinned to {counts['step']} of 1001"]
    found, counts, entries = kept(WHOLE, 40_000)
    assert entries <= 40_000 and counts["eta"] == 10 and 1 < counts["seed"] < 100
    assert size(counts | {"seed": counts["seed"] + 1}, 100) > 40_000
    singles = f"the first {counts['seed']} are also kept one by one"
    assert f"mean and 5 to 95 % over 100 seeds, and {singles}" in found.notes


def test_then_matrices_and_last_the_axes():
    sizes = {"eta": 10, "seed": 4, "step": 20, "row": 512, "column": 64}
    _, counts, entries = kept(sizes, 300_000)
    assert entries <= 300_000
    assert counts == {"eta": 10, "seed": 1, "step": 20, "row": 16, "column": 16}
    found, counts, entries = kept({"eta": 100_000, "step": 51}, 1000)
    assert entries <= 1000
    assert {0, 99_999} <= {*found.places["eta"].tolist()}


@pytest.mark.parametrize("most", [1, 7, 100, 10**4, 10**6, 10**9])
@pytest.mark.parametrize("sizes", [WHOLE, {"eta": 7}, {"seed": 3}, {"step": 900, "i": 40, "j": 5}])
def test_the_bound_is_kept_down_to_one_entry(sizes, most):
    found, counts, entries = kept(sizes, most)
    least = 5 if sizes.get("seed", 1) > 1 else 1
    assert entries <= max(most, least)
    for dim, at in found.places.items():
        assert at[0] == 0 and (np.diff(at) > 0).all() and at[-1] < sizes[dim]
    assert len(found.notes) == sum(counts[dim] < n for dim, n in sizes.items())


@pytest.mark.parametrize("most", [50, 200])
def test_steps_cover_both_scales(most):
    steps = np.arange(100_000) * 10
    at = some_steps(steps, most)
    assert len(at) <= most and at[0] == 0 and at[-1] == len(steps) - 1
    if most == 200:
        assert np.diff(steps[at]).max() <= len(steps) * 10 / 99 + 10
        positive = steps[at][1:]
        assert (positive[1:] / positive[:-1]).max() <= 2
    assert some_steps(steps[:3], most).tolist() == [0, 1, 2]
