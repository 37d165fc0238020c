"""Runs: the routes agree, W keeps its form as prompts grow."""

import numpy as np

import jaxtheory
from jaxtheory.theories.nearest_neighbor import THEORY, Config

SMALL = Config(dimension=3, context=4, num_prompts=2000, num_test=500, mask=3.0)
KEY = jaxtheory.run_key(0, 1)


def run(algorithm, config=SMALL, **options):
    return jaxtheory.simulate(
        THEORY,
        config,
        KEY,
        algorithm=algorithm,
        **{"steps": 60, "record": [0, 1, 30, 60], "dtype": "float64", **options},
    )


def test_all_routes_learn_the_same():
    runs = {name: run(name) for name in ("population", "reduced", "literal", "online", "sgd")}
    exact = runs["population"].metrics
    for simulation in runs.values():
        np.testing.assert_allclose(simulation.metrics["xi1"], exact["xi1"], rtol=0.05)
        np.testing.assert_allclose(simulation.metrics["xi2"], exact["xi2"], rtol=0.02)
        assert np.all(np.diff(simulation.metrics["loss"]) < 0) and np.all(
            np.diff(simulation.metrics["xi2"]) >= 0
        )
    first = runs["literal"].metrics["xi1"][1], runs["reduced"].metrics["xi1"][1]
    np.testing.assert_allclose(*first, rtol=1e-12)  # the first step is the same on any prompts
    assert (
        runs["literal"].metrics["off_structure"][-1]
        > 0
        == runs["reduced"].metrics["off_structure"][-1]
    )


def test_drawn_labels_move_what_averaged_ones_do_not():
    averaged, drawn = (
        run("literal", SMALL.replace(labels=labels), steps=20, record=[20]).params.W
        for labels in ("averaged", "rademacher")
    )
    assert np.all(averaged[3] == 0) and np.any(drawn[3] != 0)  # the row that meets labels
    assert np.all(averaged[:, 3] == 0) and np.all(
        drawn[:, 3] == 0
    )  # the column that meets the query's


def test_padded_columns_of_w_stay_zero():
    padded = SMALL.replace(num_prompts=50).pad(dimension=5, context=6, num_prompts=60, num_test=510)
    W = run("literal", padded, steps=5, record=[5]).params.W
    assert W.shape == (7, 7) and not np.any(W[3:5]) and not np.any(W[:, 3:5])
    plain = run("literal", SMALL.replace(num_prompts=50), steps=5, record=[5]).params.W
    keep = [0, 1, 2, 5, 6]
    np.testing.assert_allclose(W[np.ix_(keep, keep)], plain, rtol=1e-11, atol=1e-14)
