"""Files with the results of an evaluation: episodes, turns and scores, as CSV, JSON Lines and Parquet.

`tables` says which columns there are and how they are selected, `reading` reads them in parts, `writing` makes files of
the parts. Processes that send no file do without Arrow. However long a table is, one part of it is in memory.
"""
