"""The words of the project as plain typed data: no I/O, imports nothing else of ours."""
