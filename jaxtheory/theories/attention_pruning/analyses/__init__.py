"""Analyses of a fitted mask: pruning with it, the error that this causes, and other pruners.

The fitted mask is compared with these pruners.
"""
