"""How the pages in docs/ become a site: their code is run, formulas and commands are written out."""
