"""A real NFS server and real NFS clients to practise on: guests of User-Mode Linux, no root needed.

One guest is the server; every client is a guest of its own, or, with `one-kernel`, a network and UTS namespace of the
server's guest. Workers run inside the guests and are reached through the guests' serial lines:

    fleet -> relay.py (one per worker) -> keeper.py (one per lab) -> serial line -> guest/agent.py -> worker

`spec.parse_nfs` reads what a `lab=` site says, `lab.NfsLab` brings a lab up and down.
"""
