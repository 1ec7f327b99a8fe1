"""Sample corpora: small packages that build a data set, its planted facts and a question series with known answers."""
