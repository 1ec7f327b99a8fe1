"""The transforms of Optimize, one file each, applied in the order of RULES in optimize.py."""
