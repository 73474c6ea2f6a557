"""Which cases a campaign judges next."""
