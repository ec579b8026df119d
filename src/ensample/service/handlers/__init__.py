"""What each route does. A handler takes a `Call` and gives what its route says; errors say the rest."""
