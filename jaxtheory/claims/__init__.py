"""Do the statements hold? Claims, figures and verdicts."""
