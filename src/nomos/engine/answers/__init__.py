"""Answers of batched functions: asked for many cases, remembered, asked again."""
