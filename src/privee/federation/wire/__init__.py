"""What crosses between the coordinator and the sites, as bytes, and what is checked before it is believed."""
