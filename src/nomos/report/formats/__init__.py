"""Results as files that other programs read.

JUnit for CI, SARIF for code review, JSON lines for programs that follow a run. What passes
and what fails is the gate's ruling (`results/gate`), as for the exit status, so that no two
of them can disagree. Characters that a format forbids are replaced.
"""
