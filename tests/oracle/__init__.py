"""The papers' formal definitions, executed literally: slow and obviously right."""
