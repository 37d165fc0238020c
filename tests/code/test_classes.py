"""A class counts by what it derives from, its annotations and its entries."""

import enum
import importlib.util
import sys

import pytest

from jaxtheory.code.code_hash import code_hash

TEXT = """
import dataclasses, enum, functools, typing
import jaxtheory

@dataclasses.dataclass
class Point:
    x: int
    y: "float" = 2.0
    kinds: typing.ClassVar[list[int]] = []

class Pair(typing.NamedTuple):
    a: int
    b: float = 1.0

class Config(jaxtheory.Config):
    rate: float = jaxtheory.traced(0.1, "eta", "learning rate", "(0, inf)")

class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)

class Base:
    __slots__ = ("a",)
    def f(self):
        return 1

class Derived(Base, metaclass=Meta):
    LAM = 3
    @functools.cached_property
    def g(self): return 4
    @property
    def h(self): return 5
    @h.setter
    def h(self, x): self.a = 6
    @staticmethod
    def i(x=7): return x
    @classmethod
    def j(cls): return 8

def f(x: int, *, y: Point = None) -> "Pair":
    def g(z: Point) -> Pair:
        return z
    w: Point = x
    return Point(1), Pair(1), Config(), Derived(), g(w)
"""


def loaded(folder, text):
    """The function f of a text, in a module of a file."""
    file = folder / f"mine{len(list(folder.iterdir()))}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("classes_of_mine", file)
    module = sys.modules["classes_of_mine"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def test_future_annotations_change_no_hash(tmp_path):
    future = "from __future__ import annotations\n"
    assert code_hash(loaded(tmp_path, TEXT)) == code_hash(loaded(tmp_path, future + TEXT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('y: "float" = 2.0', 'y: "float" = 3.0'),
        ("x: int\n    y", "x: str\n    y"),
        ("b: float = 1.0", "b: float = 2.0"),
        ("traced(0.1", "traced(0.2"),
        ("super().__call__(*args)", "None"),
        ("return 1", "return 2"),
        ("LAM = 3", "LAM = 4"),
        ("return 4", "return 5"),
        ("return 5", "return 6"),
        ("self.a = 6", "self.a = 7"),
        ("x=7", "x=8"),
        ("return 8", "return 9"),
        ("(Base, metaclass=Meta)", "(Base)"),
        ("@dataclasses.dataclass", "@dataclasses.dataclass(eq=False)"),
    ],
)
def test_what_a_class_defines_counts(old, new, tmp_path):
    assert TEXT.count(old) >= 1
    assert code_hash(loaded(tmp_path, TEXT)) != code_hash(loaded(tmp_path, TEXT.replace(old, new)))


def test_the_description_of_a_field_does_not_count(tmp_path):
    variant = TEXT.replace("learning rate", "step size")
    assert code_hash(loaded(tmp_path, TEXT)) == code_hash(loaded(tmp_path, variant))


def test_members_of_an_enumeration_count():
    one, same, variant = (enum.Enum("E", {"A": 1, "B": n}) for n in (2, 2, 3))
    assert code_hash(one) == code_hash(same) != code_hash(variant)
    assert code_hash(one.A) != code_hash(one.B)


def test_a_method_that_was_executed_from_a_text_counts():
    def define(n):
        scope = {}
        exec(f"def __call__(self): return {n}", scope)
        return type("A", (), {"__call__": scope["__call__"]})

    assert code_hash(define(1)) == code_hash(define(1)) != code_hash(define(2))
