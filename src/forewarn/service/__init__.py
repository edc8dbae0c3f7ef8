"""The running service: concrete classes are named and connected only here."""
