"""What people see of campaigns.

`view` computes once what is said of results, `cards` what is shown of a bug. The console, the
summary, the HTML page, the notebook and the files in `formats/` all read these two.

The invariant: no output says more than `results/verdict` claims, and all say the same. Texts
of users, models and domains are escaped or clipped where they enter an output.
"""
