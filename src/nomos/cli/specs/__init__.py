"""Commands on spec files: init, check, fmt, explain.

None of them asks a model but `init`, which needs to know what it answers. They run on broken
specs, too: that is what they are for.
"""
