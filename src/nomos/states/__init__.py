"""Pools of states of a game, to draw inputs from.

Random play reaches few states. A `StatePool` grows from states that it has, by random and by
policy's actions, and keeps a state whose observation is far enough from all others.

The invariant: a pool that was saved and continued is the one that was grown in one go; its
file holds the generator, and loading it runs nothing.
"""
