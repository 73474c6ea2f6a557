"""How the next cases, and the inputs they draw from, are chosen."""
