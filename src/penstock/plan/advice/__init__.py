"""What people are told about a plan: `check` and `explain`."""
