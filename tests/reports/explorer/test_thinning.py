"""What is kept of a variable that is too large: within the bound, by the rule, and said."""

import numpy as np
import pytest

from jaxtheory.reports.explorer.thinning import size, some_steps, thinned

STEPS = np.arange(1001)
WHOLE = {"eta": 10, "seed": 100, "step": 1001}


def thin(sizes, most, axes=("eta",)):
    selection = thinned(sizes, axes, STEPS[: sizes.get("step", 1)], most)
    counts = {dim: len(at) for dim, at in selection.places.items()}
    return selection, counts, size(counts, sizes.get("seed", 1))


def test_what_fits_is_kept_whole():
    selection, counts, entries = thin(WHOLE, 10 * 1001 * 104)
    assert counts == WHOLE and entries == 10 * 1001 * 104 and not selection.notes


def test_steps_go_first_then_seeds():
    selection, counts, _ = thin(WHOLE, 10 * 1001 * 104 - 1)
    assert counts["seed"] == 100 and 100 < counts["step"] <= 200 and counts["eta"] == 10
    assert selection.notes == [f"step thinned to {counts['step']} of 1001"]
    selection, counts, entries = thin(WHOLE, 40_000)
    assert entries <= 40_000 and counts["eta"] == 10 and 1 < counts["seed"] < 100
    assert size(counts | {"seed": counts["seed"] + 1}, 100) > 40_000
    singles = f"the first {counts['seed']} are also kept one by one"
    assert f"mean and 5 to 95 % over 100 seeds, and {singles}" in selection.notes


def test_then_matrices_and_last_the_axes():
    sizes = {"eta": 10, "seed": 4, "step": 20, "row": 512, "column": 64}
    _, counts, entries = thin(sizes, 300_000)
    assert entries <= 300_000
    assert counts == {"eta": 10, "seed": 1, "step": 20, "row": 16, "column": 16}
    selection, counts, entries = thin({"eta": 100_000, "step": 51}, 1000)
    assert entries <= 1000
    assert {0, 99_999} <= {*selection.places["eta"].tolist()}


@pytest.mark.parametrize("most", [1, 7, 100, 10**4, 10**6, 10**9])
@pytest.mark.parametrize("sizes", [WHOLE, {"eta": 7}, {"seed": 3}, {"step": 900, "i": 40, "j": 5}])
def test_the_bound_is_kept_down_to_one_entry(sizes, most):
    selection, counts, entries = thin(sizes, most)
    least = 5 if sizes.get("seed", 1) > 1 else 1
    assert entries <= max(most, least)
    for dim, at in selection.places.items():
        assert at[0] == 0 and (np.diff(at) > 0).all() and at[-1] < sizes[dim]
    assert len(selection.notes) == sum(counts[dim] < n for dim, n in sizes.items())


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
