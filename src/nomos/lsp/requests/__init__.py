"""What an editor asks, a file for each kind of question.

Each file has a function from a `Document` and an offset to an answer. It reads no files but
those it is given and keeps no state, so requests are tested without an editor.
"""
