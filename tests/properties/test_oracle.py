"""What the property tests compare by notices what is wrong."""

import numpy as np
import pytest
import xarray as xr

from properties.compare import agree, same_bits
from properties.oracle import labels_are_right, recorded, within
from properties.strategies import Asked, Axis, theory

RATES = (0.1, 0.2)
EXAMPLE = theory("random_walk", False).examples[0]
ASKED = Asked(
    name="random_walk",
    all_metrics=False,
    config=EXAMPLE,
    axes=(
        Axis("learning_rate", RATES, {"learning_rate": RATES}, {"eta": "learning_rate"}, False),
        Axis("label", ("a", "b"), {"steps": (4, 2), "length": (5, 6)}, {"steps": "steps"}, True),
    ),
    seeds=[7, 3],
    steps=9,
    algorithm=None,
    record=3,
    stop=None,
    dtype="float64",
    key=0,
    buckets="auto",
)
DIMS = ("learning_rate", "label", "seed")
DATA = xr.Dataset(
    {"loss": ((*DIMS, "step"), np.zeros((2, 2, 2, 4))), "diverged_at": (DIMS, -np.ones((2, 2, 2)))},
    {
        "learning_rate": [0.1, 0.2],
        "label": ["a", "b"],
        "steps": ("label", [4, 2]),
        "length": ("label", [5, 6]),
        "seed": [7, 3],
        "step": [0, 2, 3, 4],
    },
)


def test_right_labels_pass():
    labels_are_right(DATA, ASKED)
    assert [
        (p.place, p.config.learning_rate, p.config.length.n, p.steps) for p in ASKED.points()
    ] == [
        ((0, 0), 0.1, 5, 4),
        ((0, 1), 0.1, 6, 2),
        ((1, 0), 0.2, 5, 4),
        ((1, 1), 0.2, 6, 2),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        DATA.assign_coords(learning_rate=[0.2, 0.1]),
        DATA.assign_coords(learning_rate=[0.1, np.nextafter(0.2, 1)]),
        DATA.assign_coords(seed=[3, 7]),
        DATA.assign_coords(step=[0, 1, 3, 4]),
        DATA.assign_coords(steps=("label", [2, 4])),
        DATA.assign_coords(length=("label", [6, 5])),
        DATA.transpose("label", ...),
    ],
)
def test_wrong_labels_fail(wrong):
    with pytest.raises(AssertionError):
        labels_are_right(wrong, ASKED)


def test_a_metric_that_is_recorded_elsewhere_fails():
    with pytest.raises(AssertionError):
        labels_are_right(DATA, ASKED._replace(record={"loss": [0, 2], "diverged_at": 3}))


def test_the_recorded_steps():
    assert recorded(None, [3]) == [0, 1, 2, 3]
    assert recorded(4, [6, 9]) == [0, 4, 6, 8, 9]
    assert recorded({"a": [2], "b": 5}, [6]) == [0, 2, 5, 6]


def test_a_number_beyond_the_sizes_fails():
    values = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, np.nan]])
    assert np.array_equal(within(values, (2, 2), "x"), values[:, :2])
    with pytest.raises(AssertionError, match="beyond the sizes"):
        within(values, (2, 1), "x")


def test_more_than_rounding_fails_where_a_twin_stays():
    want = {"x": np.array([[1.0, 2.0], [3.0, 4.0]])}
    off = {"x": want["x"] + [[0, 0], [0, 1e-8]]}
    near = lambda size: lambda nudge: [{"x": want["x"] + [[0, 0], [0, size]]}]
    agree({"x": want["x"] * (1 + 1e-11)}, want, "float64", 1, near(0))
    agree(off, want, "float64", 1, near(1e-9))
    agree(off, want, "float32", 1, near(0))
    for twins in (near(0), near(1e-12)):
        with pytest.raises(AssertionError):
            agree(off, want, "float64", 1, twins)
    with pytest.raises(AssertionError):  # another run is the chaotic one
        agree({"x": want["x"] + [[1e-8, 0], [0, 0]]}, want, "float64", 1, near(1e-9))
    with pytest.raises(AssertionError):
        agree({"x": want["x"] * [[1, np.nan], [1, 1]]}, want, "float64", 1, near(1e-9))
    with pytest.raises(AssertionError):
        agree({}, want, "float64", 1, near(0))


def test_bits():
    some = np.array([1.0, np.nan])
    assert same_bits(some, some.copy())
    assert not same_bits(some, some.astype(np.float32))
    assert not same_bits(some, np.array([np.nextafter(1.0, 2), np.nan]))
