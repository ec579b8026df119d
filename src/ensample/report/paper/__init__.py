"""The paper retold as claims: a page, and the same as Markdown."""
