"""Formulas as plain text."""

import pytest

from jaxtheory.plotting.annotation.formulas import plain


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("no formula_a^2", "no formula_a^2"),
        (r"$B^{-1/2}$ and $2^D$", "B^(-1/2) and 2^D"),
        (r"$\propto \sqrt{\log T}$", "∝ √(log T)"),
        (r"$\|\Delta_A\|_\mu$", "‖Δ_A‖_μ"),
        (r"$x_{i^*} - \varepsilon_{\rm theory}$", "x_(i^*) - ε_(theory)"),
    ],
)
def test_formulas_are_written_in_plain_letters(text, want):
    assert plain(text) == want
