"""In which order the axes of tensors lie in the outermost memory."""
