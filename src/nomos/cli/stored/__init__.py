"""Commands on what is stored: bugs, show, replay, report."""
