"""Planning of fusion: rules and profitability of operations that join a group."""
