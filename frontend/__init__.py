"""Programs of other systems as programs of TLF."""
