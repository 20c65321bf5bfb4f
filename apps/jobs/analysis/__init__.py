"""What one reads in the results of an evaluation: groups of environments, distributions, failures, seeds and replays.

Each module has one question and its queries. Pages and the API get the answers from `reading`, which shares them
between requests as `apps.jobs.results.cached` does. The texts and links are those that everybody may see who may see
the job: nothing is read from episodes that administrators have hidden but their outcome.
"""
