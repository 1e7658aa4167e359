"""speclog: does speculative decoding beat the plain server here, by how much, and is that comparison fair?"""

__version__ = "0.1.0"
