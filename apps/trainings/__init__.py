"""Jobs that train a policy. People ask by `operations`, workers write by `records`; `pages` is what there is to see."""
