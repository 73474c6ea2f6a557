"""What the words of the language mean, in a sentence each."""

KEYWORDS = {
    "import": "Names the domain: a Python file beside the spec or in a folder above it.",
    "use": "Brings the params and definitions of another file.",
    "param": "A constant of the run, which `--set` can change.",
    "def": "Gives a name to an expression of its parameters.",
    "input": "Draws an item from the domain's inputs; `input xs[10];` draws ten.",
    "var": "Computes a value; vars are evaluated in order.",
    "requires": "Where it is false, the case is discarded.",
    "output": "Declares what the block assigns.",
    "ensures": "Where it is false, the case is violated.",
}
STATEMENTS = {
    "import": "import ${1:domain};",
    "use": 'use "${1:common.nom}";',
    "param": "param ${1:eps} := ${2:0.01};",
    "def": "def ${1:close}(${2:a, b}) := ${3:abs(a - b) <= eps};",
    "input": "input ${1:x1};",
    "var": "var ${1:x2} := ${2:x1};",
    "requires": "requires ${1:true};",
    "output": "output ${1:d1};",
    "ensures": "ensures ${1:d1 <= d2};",
}
EXPRESSIONS = {
    "true": "The truth value true.",
    "false": "The truth value false.",
    "null": "No value.",
    "MAX_INT": "4294967295, which is 2**32 - 1.",
    "if": "`if c then a else b` evaluates only the branch that it takes.",
    "then": "The value of `if` where its condition holds.",
    "else": "The value of `if` where its condition does not hold.",
    "in": "`e in {a, b}` and `e in lo..hi`, both ends included.",
    "forall": "`forall i in xs: e` is true where `e` holds for each index.",
    "exists": "`exists i in xs: e` is true where `e` holds for some index.",
    "count": "`count i in xs: e` is for how many indices `e` holds.",
    "sum": "`sum i in xs: e` is the sum of `e` over the indices.",
}
FORMS = {
    "if": "if ${1:c} then ${2:a} else ${3:b}",
    "forall": "forall ${1:i} in ${2:xs}: ${3:e}",
    "exists": "exists ${1:i} in ${2:xs}: ${3:e}",
    "count": "count ${1:i} in ${2:xs}: ${3:e}",
    "sum": "sum ${1:i} in ${2:xs}: ${3:e}",
}
BUILT_IN = {
    "getFeat": ("getFeat(x, feature)", "A feature of a record, by name or number."),
    "setFeat": (
        "setFeat(x, feature, value)",
        "A copy of a record with one feature changed.",
    ),
    "label": ("label(x)", "The label of the item that an input drew."),
    "randInt": (
        "randInt(low, high)",
        "An integer drawn uniformly from `low` to `high`, both included.",
    ),
    "randReal": (
        "randReal(low, high)",
        "A real number drawn uniformly from `low` to `high`.",
    ),
    "strConcat": ("strConcat(a, b)", "Two strings as one."),
    "abs": ("abs(a)", "The size of a number."),
    "min": ("min(a, b, ...)", "The least of two or more values, or of a list."),
    "max": ("max(a, b, ...)", "The greatest of two or more values, or of a list."),
    "round": (
        "round(a, digits)",
        "The nearest number with so many digits behind the point.",
    ),
    "len": (
        "len(a)",
        "How many items a list, characters a string, or features a row has.",
    ),
    "isclose": (
        "isclose(a, b, rel, abs)",
        "Whether two numbers differ by at most `rel` times the larger one, or by at "
        "most `abs`.",
    ),
}
TYPES = {
    "int": "An integer.",
    "real": "A real number.",
    "bool": "A truth value.",
    "string": "A string.",
}
