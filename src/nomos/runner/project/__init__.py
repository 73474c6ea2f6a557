"""What a project holds: its specs, its settings, the names of its files."""
