"""Names of local variables are chosen freely; all others count."""

import textwrap

import pytest

from jaxtheory.code.code_hash import code_hash
from jaxtheory.code.source import normal_text

PAIRS = {  # two functions that differ in the names of local variables only
    "assignment": ("def f(x): a = x + 1; return a * a", "def f(x): b = x + 1; return b * b"),
    "two": ("def f(x): a = x; b = 2; return a - b", "def f(x): b = x; a = 2; return b - a"),
    "loop": ("def f(x):\n for a in x: x += a", "def f(x):\n for b in x: x += b"),
    "comprehension": ("def f(x): return [a for a in x]", "def f(x): return [b for b in x]"),
    "shadow": ("def f(x): return [x for x in x]", "def f(x): return [y for y in x]"),
    "nested comprehension": (
        "def f(x): return {a: b for a in x for b in a if b}",
        "def f(x): return {b: a for b in x for a in b if a}",
    ),
    "walrus": ("def f(x): return (a := x) + a", "def f(x): return (b := x) + b"),
    "walrus within": (
        "def f(x): [(a := y) for y in x]; return a",
        "def f(x): [(y := a) for a in x]; return y",
    ),
    "exception": (
        "def f(x):\n try: x()\n except ValueError as a: return a",
        "def f(x):\n try: x()\n except ValueError as b: return b",
    ),
    "with": ("def f(x):\n with x as a: return a", "def f(x):\n with x as b: return b"),
    "import": ("def f(x): import m as a; return a.b", "def f(x): import m as c; return c.b"),
    "function": (
        "def f(x):\n def g(y): return y\n return g",
        "def f(x):\n def h(y): return y\n return h",
    ),
    "closure": (
        "def f(x):\n a = x\n return lambda y: a + y",
        "def f(x):\n b = x\n return lambda y: b + y",
    ),
    "nonlocal": (
        "def f(x):\n a = x\n def g():\n  nonlocal a; a = 1\n g(); return a",
        "def f(x):\n b = x\n def g():\n  nonlocal b; b = 1\n g(); return b",
    ),
    "match": (
        "def f(x):\n match x:\n  case [a, *b]: return a, b\n  case {**c}: return c",
        "def f(x):\n match x:\n  case [c, *a]: return c, a\n  case {**b}: return b",
    ),
    "method": (
        "def f(x):\n class A:\n  def g(self): a = 1; return a\n return A",
        "def f(x):\n class A:\n  def g(self): b = 1; return b\n return A",
    ),
    "annotation": ("def f(x): a: int = x; return a", "def f(x): a: float = x; return a"),
    "stack": (
        "def f(x): a = x.stack(x.query); return type(a).__name__",
        "def f(x): b = x.stack(x.query); return type(b).__name__",
    ),
    "del": ("def f(x): a = x; del a", "def f(x): b = x; del b"),
}
OTHERS = {  # two functions that differ otherwise
    "argument": ("def f(x): return x", "def f(y): return y"),
    "global": ("def f(x): return a", "def f(x): return b"),
    "declared": ("def f(x): global a; a = x", "def f(x): global b; b = x"),
    "attribute": ("def f(x): return x.a", "def f(x): return x.b"),
    "keyword": ("def f(x): return x(a=1)", "def f(x): return x(b=1)"),
    "inner argument": ("def f(x): return lambda a: a", "def f(x): return lambda b: b"),
    "order": ("def f(x): a, b = x; return a - b", "def f(x): a, b = x; return b - a"),
    "class": ("def f(x):\n class A: pass\n return A", "def f(x):\n class B: pass\n return B"),
    "entry": (
        "def f(x):\n class A: a = 1\n return A",
        "def f(x):\n class A: b = 1\n return A",
    ),
    "imported": ("def f(x): from m import a; return a", "def f(x): from m import b; return b"),
    "local or global": ("def f(x): a = x; return a", "def f(x): a = x; return b"),
    "inner or outer": (
        "def f(x):\n a = x\n def g(): a = 1; return a\n return a",
        "def f(x):\n a = x\n def g(): nonlocal a; a = 1; return a\n return a",
    ),
    "class scope": (
        "def f(x):\n a = x\n class A:\n  a = 1\n  def g(self): return a\n return A",
        "def f(x):\n a = x\n class A:\n  b = 1\n  def g(self): return a\n return A",
    ),
    "iterator": ("def f(x): return [y for y in x]", "def f(x): return [x for y in x]"),
    "f-string": ("def f(x): a = x; return f'{a=}'", "def f(x): b = x; return f'{b=}'"),
    "star": ("def f(x): a, *b = x; return b", "def f(x): *a, b = x; return b"),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_names_of_local_variables_do_not_count(pair, tmp_path):
    one, twin = PAIRS[pair]
    assert normal_text(one) == normal_text(twin)
    assert code_hash(loaded(tmp_path, one)) == code_hash(loaded(tmp_path, twin))


@pytest.mark.parametrize("pair", OTHERS)
def test_other_names_count(pair, tmp_path):
    one, variant = OTHERS[pair]
    assert normal_text(one) != normal_text(variant)
    assert code_hash(loaded(tmp_path, one)) != code_hash(loaded(tmp_path, variant))


def loaded(folder, text, name="f", **scope):
    """The function of a text, from a file or without one."""
    file = folder / f"mine{len(list(folder.iterdir()))}.py"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    return scope[name]


def test_a_free_variable_counts_by_its_value(tmp_path):
    def closed(*names, values=(1, 2), text="{0} - {1}"):
        a, b = names
        lines = (f"def make({a}, {b}):", f" return lambda x: {text.format(a, b)}")
        return loaded(tmp_path, "\n".join(lines), "make")(*values)

    base = code_hash(closed("a", "b"))
    assert code_hash(closed("b", "a")) == code_hash(closed("p", "q")) == base
    assert code_hash(closed("a", "b", values=(2, 1))) != base
    assert code_hash(closed("a", "b", text="{1} - {0}")) != base
    assert code_hash(closed("b", "a", values=(2, 1))) != base


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): a = x; return locals()", "def f(x): b = x; return locals()"),
        ("def f(x): a = x; return eval(x)", "def f(x): b = x; return eval(x)"),
        ("def f(x): a = x; return x.query('@a')", "def f(x): b = x; return x.query('@a')"),
        (
            "def f(x):\n def g(): pass\n return g.__name__",
            "def f(x):\n def h(): pass\n return h.__name__",
        ),
    ],
)
def test_names_that_are_read_count(one, other, tmp_path):
    assert code_hash(loaded(tmp_path, one)) != code_hash(loaded(tmp_path, other))


def test_names_count_if_a_helper_reads_them(tmp_path):
    def names(of_variable, helper):
        text = f"{helper}\ndef f(x): {of_variable} = x; return g({of_variable})"
        return code_hash(loaded(tmp_path, text))

    plain = "def g(x): return x"
    caller = "import sys\ndef g(x): return sys._getframe(1).f_locals"
    assert names("a", plain) == names("b", plain)
    assert names("a", caller) != names("b", caller)


def test_a_function_without_text_is_read_from_its_code():
    def define(text):
        scope = {}
        exec(text, scope)
        return scope["f"]

    for pair, (one, twin) in PAIRS.items():  # Python 3.12 writes a comprehension into its function
        if pair != "shadow" and not any(x in one for x in ("nonlocal", "def g", "import")):
            assert code_hash(define(one)) == code_hash(define(twin)), one
    for one, variant in OTHERS.values():
        assert code_hash(define(one)) != code_hash(define(variant)), one
    begin, end = "def f(x):\n try:\n  x()\n", " except ValueError: pass\n"
    assert code_hash(define(f"{begin}  x()\n{end}")) != code_hash(
        define(f"{begin}{end} else: x()\n")
    )


def test_super_counts_by_its_class(tmp_path):
    text = "class A:\n def f(self): return {0}\nclass B(A):\n def f(self): return super().f()"
    one, same, variant = (loaded(tmp_path, text.format(n), "B").f for n in (1, 1, 2))
    assert code_hash(one) == code_hash(same) != code_hash(variant)
