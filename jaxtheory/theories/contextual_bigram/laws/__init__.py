"""What the theory says: the population, its run in two numbers, mini-batch noise, transfer, and
what thresholds cost.
"""
