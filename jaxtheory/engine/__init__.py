"""How is a theory trained? `sweep`, `simulate` and `plan`, each by the folders beside them."""
