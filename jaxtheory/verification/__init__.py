"""Are the formulas right? Checks of gradients, closed forms, padding and hidden state."""
