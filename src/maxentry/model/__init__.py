"""The paper's model: SMG draws, priors, row and column effects, and observational entropy."""
