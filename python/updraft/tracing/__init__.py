"""Rules written in Python: functions are traced into the text of a rule.

The function is called once for each choice of its static arguments, with values that record what is
done with them. What was recorded is printed in the language, together with the places in the Python
files that it came from, and compiled like any rule.
"""
