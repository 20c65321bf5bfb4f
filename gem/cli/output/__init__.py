"""What commands print: tables, reports of evaluations, and views of an episode."""
