"""Several machines or devices that train one model in step."""
