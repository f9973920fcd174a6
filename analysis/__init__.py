"""Analyses: facts about IR, which they read and do not rewrite."""
