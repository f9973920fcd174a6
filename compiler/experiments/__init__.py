"""
Experiments: compilation and simulation of programs under varied options and targets.
"""
