"""Analysis of single operations: iteration domains, accesses and arithmetic."""
