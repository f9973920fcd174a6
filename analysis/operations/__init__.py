"""Facts about single operations: iteration domains, accesses and arithmetic."""
