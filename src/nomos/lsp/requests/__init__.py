"""What an editor asks, a file for each kind of question."""
