"""`ensample serve`: experiments over HTTP. It needs the extra `serve`."""
