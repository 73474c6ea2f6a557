"""What models are made of: trees or layers, read from the objects of their libraries."""
