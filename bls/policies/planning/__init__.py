"""HCP'19, PCP'19, PCP'20, and node classes: policies that plan every decision with constraint programming (``bls.cp``)."""
