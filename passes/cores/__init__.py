"""Loops whose iterations are dealt to the cores of a chip."""
