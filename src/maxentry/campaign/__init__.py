"""Campaigns: what was asked and measured, remembered as events, and what to measure next."""
