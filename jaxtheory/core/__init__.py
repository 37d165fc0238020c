"""What is a theory? Configs, theories, their contract, and the hash of their code."""
