"""What a group costs as one kernel of a GPU."""
