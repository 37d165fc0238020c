"""Laws of the theory: the population, its run in two numbers, noise, transfer, cost and classes.

The noise is that of mini-batches, the cost that of thresholds, and the classes have unequal
frequency.
"""
