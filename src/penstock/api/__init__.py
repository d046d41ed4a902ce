"""The Python interface: `Engine` and `materialise`, what they take and what they give."""
