"""How is a theory trained? `sweep`, `simulate` and `plan`, whose work is in the folders here."""
