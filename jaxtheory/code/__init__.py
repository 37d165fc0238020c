"""What is the same code? Its hash, its contents, and what it reads from outside."""
