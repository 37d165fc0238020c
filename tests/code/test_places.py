"""Locations of files do not count; what lies below the folder of the code does."""

from pathlib import Path

import jax.numpy as jnp

from jaxtheory.code.places import home, placeless


def test_the_home_of_a_function_is_the_folder_from_which_it_was_imported():
    assert home(home) is home(jnp.zeros) is None  # libraries have none
    scope = {"__name__": "pack.module", "__file__": "/one/pack/module.py"}
    exec("def f(): pass", scope)
    assert home(scope["f"]) == "/one"


def test_a_path_counts_by_what_is_below_the_home_or_by_its_name():
    texts = [placeless(f"{at}/data/a.npy", {at: None}) for at in ("/one", "/two/three")]
    assert texts[0] == texts[1] == "str below '/data/a.npy'"
    assert placeless("/onedata", {"/one": None}) == "str '/onedata'"
    assert placeless(Path("/x/a"), {}) == placeless(Path("/y/a"), {}) != placeless(Path("y/a"), {})
