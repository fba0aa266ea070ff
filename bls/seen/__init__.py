"""What Python policies and observers see of jobs, hosts, partitions and windows; additional data; what a policy answers."""
