"""The paper's case studies, each a small project that a user could have written."""
