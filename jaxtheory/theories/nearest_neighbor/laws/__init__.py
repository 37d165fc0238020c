"""Laws of the theory: the population's loss and its decay, and bounds on the error under shift."""
