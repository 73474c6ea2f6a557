"""Testing a landing policy: relaxed and unrelaxed games of LunarLander."""
