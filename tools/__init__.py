"""Programs that make files of the product anew: sample problems, wiki pages, the first weights."""
