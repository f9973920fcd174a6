"""Planning of tile sizes of groups without a cost model."""
