"""Analyses of a fitted mask: pruning with it, the error that this causes, and the pruners it is
compared with.
"""
