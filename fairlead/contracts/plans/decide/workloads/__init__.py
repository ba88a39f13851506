"""What a plan does to each kind of workload (section 3.7): functions of live objects; pure."""
