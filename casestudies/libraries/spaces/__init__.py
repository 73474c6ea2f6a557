"""The hyper-parameters of each learner and values within their documented ranges.

A value that is a dict sets several hyper-parameters that belong together.
"""

from typing import Any

from casestudies.libraries.spaces import boosting, converted, sklearn

Space = dict[str, tuple[Any, ...]]

SPACES: dict[str, Space] = boosting.SPACES | sklearn.SPACES | converted.SPACES
