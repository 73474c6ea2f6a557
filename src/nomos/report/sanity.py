"""What specs notice of planted faults, as lines."""

from __future__ import annotations

from collections.abc import Iterable

from nomos.sanity.sanity import SanityCheck


def sanity_lines(check: SanityCheck) -> Iterable[str]:
    """Yield what one spec notices."""
    yield f"{check.name}: {check.violations} of {check.tests} violated as it is"
    widest = max(len(noticed.fault) for noticed in check.faults)
    for noticed in check.faults:
        said = "noticed" if noticed.is_noticed else "not noticed"
        counts = f"{noticed.violations} violated, {noticed.new} new bugs"
        yield f"  {noticed.fault:<{widest}}  {said:<11}  {counts}"
    for remark in check.remarks:
        yield f"  {remark}"
