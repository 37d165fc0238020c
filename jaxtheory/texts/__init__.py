"""What does a user read? Errors with hints, labels, and short forms of records."""
