"""What is a theory, and is this one? Config, Theory, their contract, and the hash of their code."""
