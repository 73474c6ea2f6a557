"""What a campaign came to: bugs, counts and results as frozen data, and what they say.

`Result` has `Counts`, `Bug`s and what was found out about them; `reading` makes one from
JSON. `verdict` says what may be claimed, `gate` what passes, `statistics` gives intervals,
`bugs` names bugs.

The invariant: a claim is computed here, once, from counts. Everything above prints it, so
the console, the page and the exit status cannot disagree. JSON is data: it is checked
against the types of the fields, and nothing in it is run.
"""
