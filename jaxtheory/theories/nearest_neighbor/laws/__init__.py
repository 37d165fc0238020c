"""What the theory says: the population's loss and how it falls, and bounds on the error under
shift.
"""
