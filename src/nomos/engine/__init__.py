"""Run cases: one alone, many at once in columns, many at once as coroutines."""
