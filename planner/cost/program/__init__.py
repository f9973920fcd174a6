"""Cost model of tile programs on NPUs: cycle estimates."""
