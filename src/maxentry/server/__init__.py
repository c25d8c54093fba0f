"""The server: campaigns of one storage over HTTP, for instruments, laboratory systems and people elsewhere."""
