"""What is done with a fitted mask: pruning and the error it causes, and the pruners it is compared
with.
"""
