"""One instance of an engine as a worker plays it: names, contents, threads, jobs, counters, recorded calls."""
