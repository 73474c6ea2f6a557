"""What a file may hold: checked before a library that would believe it reads it."""
