"""
Planning settings without IR: limits, thresholds and calibrated costs, as frozen
dataclasses.
"""
