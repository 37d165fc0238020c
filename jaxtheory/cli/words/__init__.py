"""What do the words of a command line mean? Axes, values, stop rules, executors and logs."""
