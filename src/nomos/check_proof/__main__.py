"""`python -m nomos.check_proof proof.json [MODEL]`."""

import sys

from nomos.check_proof.certificate import main

sys.exit(main(sys.argv[1:]))
