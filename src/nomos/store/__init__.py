"""What a project remembers of its campaigns: a database, and files for the repository."""
