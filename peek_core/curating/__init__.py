"""What the acts of a person on the map are made of; `peek_core.curation` puts them together."""
