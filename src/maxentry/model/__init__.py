"""The paper's model: SMG draws, priors, row and column effects, coherence and observational entropy."""
