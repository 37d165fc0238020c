"""The theory that a user means: a record, a module, a name or a file."""

import pytest
from helpers.worked_example import EXAMPLE, MODULE, THEORY, Config

from jaxtheory import InputError
from jaxtheory.core.resolve import named_theory, theory_of
from jaxtheory.theories import random_walk


def test_a_record_a_module_and_a_name_mean_the_same_theory():
    assert theory_of(THEORY) is theory_of(MODULE) is THEORY
    assert theory_of(random_walk) is theory_of("random_walk") is random_walk.THEORY


def test_a_file_is_loaded_anew_but_for_a_config_of_its_loaded_module(monkeypatch):
    for path in (EXAMPLE, str(EXAMPLE)):
        assert theory_of(path).Config is not Config
        monkeypatch.setitem(__import__("sys").modules, MODULE.__name__, MODULE)
        assert theory_of(path, Config()) is THEORY


def test_what_is_not_a_theory_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(InputError, match=r"empty\.py: defines no THEORY"):
        theory_of(tmp_path / "empty.py")
    with pytest.raises(InputError, match="numpy: defines no THEORY"):
        theory_of(__import__("numpy"))
    with pytest.raises(InputError, match="theory is a int"):
        theory_of(3)
    with pytest.raises(InputError, match=r"nowhere\.py: no such file"):
        theory_of("nowhere.py")
    with pytest.raises(InputError, match="unknown theory 'random_wak'; did you mean 'random_walk'"):
        named_theory("random_wak")
