"""The arguments of a figure's sweep, in its full and its quick form."""

import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import Figure, InputError
from jaxtheory.claims import arguments

SWEEP = {"steps": 40, "seeds": 8, "vary": {"eta": [0.1, 0.2]}}
QUICK = {"seeds": 2, "config": Config(dimension=2)}
FIGURE = Figure("falls", "test", THEORY, Config(), SWEEP, QUICK, (), lambda data: None)


def test_quick_replaces_arguments_and_the_config():
    assert arguments(FIGURE, False) == (Config(), SWEEP)
    assert arguments(FIGURE, True) == (Config(dimension=2), SWEEP | {"seeds": 2})


def test_an_argument_that_a_sweep_does_not_take_is_named():
    with pytest.raises(InputError, match="unknown argument 'seed'; did you mean 'seeds'"):
        arguments(FIGURE._replace(sweep=SWEEP | {"seed": 3}), False)


def test_an_experiment_has_arguments_of_its_own():
    def experiment(folder, key, progress, seeds):
        raise AssertionError

    own = FIGURE._replace(experiment=experiment, sweep={"seeds": 3}, quick={"seeds": 1})
    assert arguments(own._replace(config=None), True) == (None, {"seeds": 1})
    with pytest.raises(InputError, match="unknown argument 'steps'"):
        arguments(own._replace(sweep=SWEEP), False)
    anything = own._replace(experiment=lambda folder, key, progress, **options: None, sweep=SWEEP)
    assert arguments(anything, False)[1] == SWEEP
