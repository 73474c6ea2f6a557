"""The rounds of a repair, and what is kept of them."""
