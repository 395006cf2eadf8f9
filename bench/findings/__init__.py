"""What real NFS does that surprises: each finding reproduced by one command, `python -m bench.findings NAME`."""
