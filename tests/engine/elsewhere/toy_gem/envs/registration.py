from types import SimpleNamespace

ENV_REGISTRY = {}


def register(env_id, entry_point, **kwargs):
    ENV_REGISTRY[env_id] = SimpleNamespace(id=env_id, entry_point=entry_point, kwargs=kwargs)


def make(env_id, **kwargs):
    entry = ENV_REGISTRY[env_id]
    return entry.entry_point(**{**entry.kwargs, **kwargs})
