"""What is found out after a campaign: groups, smaller bugs, cases looked at again."""
