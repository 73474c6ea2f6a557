"""One adapter for each format of model files, with its library imported inside."""
