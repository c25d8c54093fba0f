"""Studies: the evidence that choosing pays, by the same campaigns that users run."""
