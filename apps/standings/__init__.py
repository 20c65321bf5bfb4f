"""What is kept of how agents and people do: results of jobs, profiles of agents, ratings of duels, rows of people.

Workers compute it when episodes and jobs end (`refreshing`), and pages read it by its key. Begin with `models`.
"""
