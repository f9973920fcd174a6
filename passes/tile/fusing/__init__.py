"""Steps of loop fusion: sink slices, fuse two nests, erase dead tiles."""
