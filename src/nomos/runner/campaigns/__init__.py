"""One campaign: its ranges, its violations, its bugs, its record."""
