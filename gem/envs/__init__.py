"""The environments, by category; importing this package registers all of them."""

from gem.envs import dialogues as dialogues
from gem.envs import duels as duels
from gem.envs import games as games
from gem.envs import problems as problems
from gem.envs import reasoning as reasoning
from gem.envs import shop as shop
from gem.envs import terminal as terminal
from gem.envs import with_tools as with_tools
