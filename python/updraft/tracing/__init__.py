"""Rules in Python: functions are traced into the text of a rule.

The function is called once for each choice of its static arguments, with values that record the
operations on them. The recording is printed in the language, with the locations in the Python files
that it came from, and compiled like any rule.
"""
