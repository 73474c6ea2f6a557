"""A campaign: from drawn cases to verdicts, bugs and what is kept of them."""
