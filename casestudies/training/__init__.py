"""What the `train.py` of several case studies share; needs the extra `train`."""
