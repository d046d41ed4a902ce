"""What a query needs to know of itself: one file per question."""
