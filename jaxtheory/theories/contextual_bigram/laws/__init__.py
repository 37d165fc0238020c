"""Laws of the theory: the population, its run in two numbers, mini-batch noise, transfer, the cost
of thresholds, and classes of unequal frequency.
"""
