"""Agents that are measured against: simulated ones, and ones that look answers up or remember them."""
