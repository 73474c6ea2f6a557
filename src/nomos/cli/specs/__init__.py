"""Commands on specs: check, fmt, compile, explain, init."""
