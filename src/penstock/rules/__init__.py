"""Entailment rules: open SPARQL texts that are read, selected, edited and shipped."""
