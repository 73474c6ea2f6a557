"""Searches that generate their own inputs: proposed in generations, learned from verdicts.

A strategy proposes a `Proposal`, cases as numbers (`strategy`), and learns from what became
of them. `Making` encodes records as numbers and back, `Margins` measures how near a case
came to a violation. `Mutated`, `Guided` and `Diverse` are strategies.

The invariant: a proposal depends on the seed, the generation and what earlier generations
brought, never on workers; and its inputs keep to the ranges of the schema. Strategies see
numbers alone, so one that is added needs to know neither domains nor models.
"""
