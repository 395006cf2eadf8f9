"""The file protocols of real stores, and the machinery that replays them: standard library only, sent to the sites.

Everything here but `catalogue` travels with a worker (`fleet.source`) and runs on Python >= 3.9.
"""
