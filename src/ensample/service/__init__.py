"""`ensample serve`: experiments over HTTP. Nothing else imports this, and it needs the extra `serve`."""
