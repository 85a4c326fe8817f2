"""The tests of mnemic, laid out as the package is."""
