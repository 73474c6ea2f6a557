"""What a file may hold: checked before a library that would believe it reads it.

Some formats are data by design, and still dangerous: native code follows the numbers of a
tree unchecked, TorchScript has operators that write files, an archive may unpack to
gigabytes. Each module here walks through one format and knows what a harmless file holds;
everything else is refused, so what is new in a format is refused until it is known here.
"""
