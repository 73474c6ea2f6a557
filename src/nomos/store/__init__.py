"""What a project remembers of its campaigns: a database, and files for the repository.

`Store` keeps results, bugs and checkpoints in SQLite; `rows` turn them into columns and back,
`migrations` bring old files up to date, `files` writes bugs that a repository shares.

The invariant: a campaign is recorded whole or up to a checkpoint, never in between, also if
it is killed. What is read is data: it is checked, and nothing in it is run.
"""
