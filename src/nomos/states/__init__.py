"""Pools of states of a game, to draw inputs from."""
