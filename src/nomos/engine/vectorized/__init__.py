"""Cases as columns: each line of a spec for a whole chunk at once."""
