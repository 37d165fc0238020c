"""Formulas of sentences on pages."""

import pytest

from jaxtheory.reports.typeset import mathtext, typeset


@pytest.mark.parametrize(
    ("sentence", "page"),
    [
        ("|Delta_A|^2 is at most 10^-6", "|Δ<sub>A</sub>|<sup>2</sup> is at most 10<sup>−6</sup>"),
        ("W_{i, p(i)} and x_{i*}", "W<sub>i, p(i)</sub> and x<sub>i*</sub>"),
        ("s_(R+1) of W_Q^T", "s<sub>R+1</sub> of W<sub>Q</sub><sup>T</sup>"),
        ("O(T^(-poly(N, d) delta))", "O(T<sup>−poly(N, d) δ</sup>)"),
        ("xi2 falls as t^(-1/3).", "ξ<sub>2</sub> falls as t<sup>−1/3</sup>."),
        ("(N - 1) e^-m, k^-beta", "(N - 1) e<sup>−m</sup>, k<sup>−β</sup>"),
        ("o(1/sqrt T), sqrt(Pi^T)", "o(1/√T), √(Π<sup>T</sup>)"),
        ("beta, theta_0 and a_beta", "β, theta_0 and a<sub>β</sub>"),
        ("“-\\xi_2^{(t)}”", "“-ξ<sub>2</sub><sup>(t)</sup>”"),
        ("parent_attention, x < 1 & y", "parent_attention, x &lt; 1 &amp; y"),
        ("ΔW_Q, num_states", "ΔW<sub>Q</sub>, num_states"),
        ("plain words", "plain words"),
    ],
)
def test_a_sentence_with_formulas(sentence: str, page: str) -> None:
    assert typeset(sentence) == page


def test_other_escapes() -> None:
    assert typeset("W_Q [a]", lambda text: text.replace("[", "\\[")) == "W<sub>Q</sub> \\[a]"


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        ("s_(R+1) of W_Q", "s$_{R+1}$ of W$_{Q}$"),
        ("O(T^(-x_1 delta))", "O(T$^{−x_{1} δ}$)"),
        ("5 $ and √Πᵀ", r"5 \$ and √Πᵀ"),
    ],
)
def test_a_title_with_formulas(sentence: str, title: str) -> None:
    assert mathtext(sentence) == title
