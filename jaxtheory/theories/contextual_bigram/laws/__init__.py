"""Laws of the theory: the population, its run in two numbers, mini-batch noise, transfer, and the
cost of thresholds.
"""
