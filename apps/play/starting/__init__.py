"""Starting an episode from the web: the forms, the limits on how often, the tools that are asked first, and the keys by
which a form that is sent twice starts one episode."""
