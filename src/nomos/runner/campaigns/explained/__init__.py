"""Triage after a campaign: groups, rules, shrunk cases, the flakiness check.

It happens after counting and has limits of its own: it explains bugs and changes no count.
"""
