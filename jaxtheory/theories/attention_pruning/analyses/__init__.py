"""What is done with a fitted mask: pruning and the error it causes, the pruners it is compared with, how tight the bounds are."""
