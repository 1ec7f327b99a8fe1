"""From bytes of a text file to tables: encoding, dialect, structure, repairs, and the engine's strict reading."""
