"""What the library promises, tried at length: ``python -m tests.soak``, see `__main__`.

A module is a line of the table, or a few: each has a name, a full figure and a function
``once(seed, k)`` that tries case k and returns a word for what it met, or raises. Case k of a
seed is always the same.
"""
