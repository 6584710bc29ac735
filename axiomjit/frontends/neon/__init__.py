"""What neon users expect to find."""
