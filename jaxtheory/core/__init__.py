"""What is a theory? Configs, theories, their contract, plugins, and algorithms from optax."""
