"""Prices: a published table that travels with the product, and the person's own file, which wins over it."""

from peek_core.prices.table import PriceTable

__all__ = ["PriceTable"]
