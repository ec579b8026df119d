"""One claim a file. Each exports `CLAIM`; `ensample.claims.registry` lists them."""
