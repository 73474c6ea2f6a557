"""What the operators and built-in functions of the language mean, for one case.

`operators` compares, takes items and adds up; `vectors` calculates, on numbers as Python
does and on vectors element by element. All execution modes come back to these.
"""
