"""The OpenAPI document: what is added to each operation (`openapi`), and how its page shows it (`reference`)."""
