"""How each kind of model is trained further."""
