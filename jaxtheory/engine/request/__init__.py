"""What was asked for? The arguments of a sweep, checked once, and JAX's settings for it."""
