"""What people see of campaigns."""
