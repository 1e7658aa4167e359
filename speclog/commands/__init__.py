"""One module a command: parse options, call one function, print."""
