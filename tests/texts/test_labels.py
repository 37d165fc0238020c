"""Names and labels that cannot be stored, printed or found again are refused in a line."""

import pytest

from jaxtheory.texts.labels import label_fault, name_fault, visible

ODD = [
    *("", ".", "..", "...", "a/b", "../x", "/tmp/x", "a\\b", "a\0", "a\nb", "a\x1b[31m", "a\x7f"),
    *("a\x9b", "a\ud800", "a\u2028b", "a\u202eb", "a" * 300, "ü" * 150, "a.", ".a", "__a", " a"),
    *("a ", "zarr.json", "\t", 5, None, b"a", ("a",), 2.5),
]


@pytest.mark.parametrize("name", ODD)
def test_a_name_that_no_file_or_variable_can_have_is_refused_in_a_line(name):
    fault = name_fault(name)
    assert fault and fault.isprintable() and len(fault) < 150


@pytest.mark.parametrize("name", ["loss", "μ", "网络", "a b", "loss:train", "a.b-c", "x" * 200])
def test_other_names_are_taken(name):
    assert name_fault(name) is None


@pytest.mark.parametrize(
    "label",
    ["", "a\x1b[2J", "a\n", "\ud800", float("nan"), 2**63, -(2**63) - 1, 2**70, None, b"a", 1j, ()],
)
def test_a_label_that_cannot_be_stored_is_refused_in_a_line(label):
    fault = label_fault(label)
    assert fault and fault.isprintable() and len(fault) < 150


@pytest.mark.parametrize(
    "label", ["a/b", "..", "=1+1", "é", 0, True, -(2**63), 2**63 - 1, 0.5, float("inf")]
)
def test_other_labels_are_taken(label):
    assert label_fault(label) is None


def test_characters_that_steer_a_terminal_become_visible():
    assert visible("\x1b]0;t\x07\x9b1m\r\u202eé 网\ud800") == (
        r"\x1b]0;t\x07\x9b1m\r\u202eé 网\ud800"
    )
    assert visible("a\n\tb", allowed="\n") == "a\n\\tb"
    assert visible("plain") == "plain"
