"""Bugs in groups, and rules that say where they are.

`Attribute`s describe sampled cases: features of inputs, draws, answers. Bugs with equal
outputs share a group; `find_rule` looks for a conjunction of conditions that covers it.

The invariant: a rule is reported only with what it achieved on held-out cases. One that
fits the cases it was found on by chance would send people after the wrong cause.
"""
