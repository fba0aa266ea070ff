"""What every trace shows of a ledger, whatever its format."""
