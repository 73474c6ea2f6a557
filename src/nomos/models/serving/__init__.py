"""Models behind a server that speaks the Open Inference Protocol, version 2.

`served` turns rows into requests and answers into labels and scores; `transport` sends one
request until it is answered or given up. An answer counts only for the request that it
belongs to: a connection on which anything went wrong is closed, so that a late answer is
never taken for the next one. Both kinds of models behind HTTP are asked by httpx on the event
loop of the process, where the time-out is for a whole answer, to its last byte.
"""
