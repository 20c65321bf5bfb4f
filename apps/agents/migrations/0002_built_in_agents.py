"""The agents that everybody has: random, expert and the people who play."""

from django.db import migrations

AGENTS = [
    ("random", "random", "random", 8, "Takes a valid action at random."),
    ("expert", "expert", "expert", 3, "A solver written for each environment. It uses only what the rules show."),
    ("human", "human", "human", 2, "A person at this site."),
]


def add(apps, schema_editor):
    agent_model = apps.get_model("agents", "Agent")
    for slug, name, kind, colour, about in AGENTS:
        agent_model.objects.update_or_create(
            slug=slug, defaults={"name": name, "kind": kind, "colour": colour, "about": about}
        )


def remove(apps, schema_editor):
    apps.get_model("agents", "Agent").objects.filter(slug__in=[row[0] for row in AGENTS], owner=None).delete()


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [migrations.RunPython(add, remove)]
