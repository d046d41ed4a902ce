"""Tables as people have them: a map says which terms the columns of a row stand for."""
