"""Where records come from: tables in files, arrays, frames, folders of images.

Reading is strict, since a value that was changed silently makes a wrong verdict: what does not
fit the schema or the type is refused with its row and column (`cells`, `csvfile`).
"""
