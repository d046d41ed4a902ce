"""The stage between decode and match: what else is true of an element, given what is known."""
