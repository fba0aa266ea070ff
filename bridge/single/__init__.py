"""The application level alone: one loop, or one task graph."""
