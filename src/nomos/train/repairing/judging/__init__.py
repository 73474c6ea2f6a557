"""What a model is judged on, and how good it is there.

`Parts` are the records to train on, to watch and to hold out; a `Bench` evaluates the model
that is swapped in, by whole campaigns, and gives rates with their variance.

The invariant: held-out records take no part in training or choosing.
"""
