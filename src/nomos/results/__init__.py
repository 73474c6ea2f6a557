"""What a campaign came to: bugs, counts and results as frozen data, and what they say."""
