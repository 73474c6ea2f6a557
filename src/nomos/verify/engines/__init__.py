"""How cases are decided: sums of trees, networks, linear models.

All engines search alike: a part of the cases is bounded; where the bounds exclude every
violation the part holds, where they imply one it is violated, else it is halved. `settle`
chooses the engine, `search` has what they find and when they must stop. Each can end
early with what it has decided: what is left is undecided, never counted as holding.
"""
