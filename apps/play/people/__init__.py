"""People who play with people: `names` of guests, `lobby_seats` that anybody may take, `rematches`, and `mine`, the
page of one's own games. `invitations` are the links to free seats."""
