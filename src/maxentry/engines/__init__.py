"""Where work runs beside the threads of this machine."""
