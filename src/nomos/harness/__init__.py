"""The harness: cases drawn, run one at a time or thousands at once, and judged."""
