"""Where records come from: tables in files, arrays, frames."""
