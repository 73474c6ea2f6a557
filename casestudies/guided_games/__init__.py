"""Does practice from bugs help? Small games in which the question has an answer."""
