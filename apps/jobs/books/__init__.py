"""The books of jobs: what the requests of endpoint agents used, and what is reserved for those that are under way.

Begin reading in `rows`. Workers write through `store`; `lost` books what a worker left behind, and `reading` is for
pages and programs. Whoever writes locks in this order: shards, the job's books, the job.
"""
