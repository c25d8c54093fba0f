"""The client: a campaign on a server, used like one at hand."""
