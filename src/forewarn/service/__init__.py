"""The running service: the only place where concrete classes are named and
connected.
"""
