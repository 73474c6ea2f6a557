"""Box2D and gymnasium's LunarLander, imported where warnings may be errors.

Box2D's wrapper warns while it is being imported, and takes Python down with it when
that warning is raised as an error. Import both from here.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import Box2D
    from gymnasium.envs.box2d import lunar_lander

__all__ = ["Box2D", "lunar_lander"]
