"""The methods of the clients, a module for each part of the API. Each is written once, for both clients."""
