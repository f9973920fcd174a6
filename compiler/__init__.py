"""
Compiler: driver, API, backends, explanations and experiments, between the passes and
the command-line tools.
"""
