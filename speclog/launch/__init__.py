"""Launch: a profile becomes a server session whose log carries its own proof.

Imports only the standard library and click, so that it also runs inside SGLang's own environment.
"""
