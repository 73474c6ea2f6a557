"""Models trained on the cases in which they break specifications."""
