"""What does `jaxtheory new` write? Example theories to start from."""
