"""Source text in a normal form: what changes no value does not count, all else does."""

import linecache

import pytest

from jaxtheory.code import source

TEXT = "def f(x, y=1):\n    return x + y * 2\n"


@pytest.mark.parametrize(
    "same",
    [
        "def f(x, y=1):\n    # a comment\n    return (x + y * 2)\n",
        "def f(x, y=1):\n    'A docstring.'\n    return x + y * 2\n",
        "def f(x: int, y: int = 1) -> int:\n    return x + y * 2\n",
        "def f(x, y=1):\n    assert x\n    pass\n    return x + \\\n        y * 2\n",
    ],
)
def test_what_changes_no_value_does_not_count(same):
    assert source.normal_text(same) == source.normal_text(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, y=1):\n    return x + y * 3\n",
        "def f(x, y=1):\n    return (x + y) * 2\n",
        "def f(x, y=1):\n    return x - y * 2\n",
        "def f(x, y=2):\n    return x + y * 2\n",
        "def f(x, *, y=1):\n    return x + y * 2\n",
        "def f(y, x=1):\n    return x + y * 2\n",
        "def f(x, y=1):\n    return x + y * 2.0\n",
        "def f(x, y=1):\n    return x + y * True\n",
    ],
)
def test_what_changes_a_value_counts(text):
    assert source.normal_text(text) != source.normal_text(TEXT)


def test_a_function_is_read_only_where_its_file_holds_its_code(tmp_path):
    def loaded(text):
        scope = {}
        exec(compile(text, str(file), "exec"), scope)
        return source.of_function(scope["f"].__code__, scope)

    file = tmp_path / "mine.py"
    file.write_text(TEXT)
    first = loaded(TEXT)
    assert {"x", "y"} <= first.names
    assert loaded("def f(x, y=1):\n    return x + y * 4\n") is None  # the file holds another
    file.write_text(TEXT.replace("def f", "def  f"))
    linecache.checkcache(str(file))
    assert loaded(TEXT) == first


def test_the_text_of_a_module_is_that_of_its_file():
    with open(source.__file__, encoding="utf-8") as file:
        assert source.text_of("jaxtheory.code.source") == file.read()
