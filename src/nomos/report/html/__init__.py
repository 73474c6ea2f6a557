"""Results as one HTML page."""
