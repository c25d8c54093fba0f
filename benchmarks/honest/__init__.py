"""Are the defaults honest? Each promise of the defaults as a line of a table: asked, before, now."""
