"""Views of jobs, hosts, partitions and windows for Python policies and observers; additional data; answers of a policy."""
