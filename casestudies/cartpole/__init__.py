"""Testing a balancing policy: CartPole with longer poles."""
