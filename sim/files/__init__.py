"""Files of every kind: how they are read strictly, and written whole or not at all."""
