"""Programs that write parts of the project; run from the root of a clone."""
