"""What choosing for a goal brings: finding the best, ranking, deciding, beside rules that others use."""
