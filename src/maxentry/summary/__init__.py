"""What figures, the report, the dashboard and the command line show, as numbers: maps, reasons, the error curve."""
