"""Commands on what earlier campaigns left: bugs, show, replay, report, cache.

What is stored is somebody's file: a model or a setting that it alone names is not run, unless
the command line names it, too (`runner/project/reopening`).
"""
