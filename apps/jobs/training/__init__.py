"""Jobs that train a policy: what people ask of them, what their workers write, and their pages."""
