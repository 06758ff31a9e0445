"""What commands show: tables, progress, answers, entries of a ledger, complaints."""
