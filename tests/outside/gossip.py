"""An attack from outside: somebody gossips about whoever is in a group of two."""

from sfumato.attack import Outcome


class Gossip:
    name = "gossip"

    def misfit(self, view, knowledge):
        return None if view.records else "the release is empty"

    def run(self, view, knowledge):
        sizes = view.groups().sizes
        exposed = int(sizes[sizes <= 2].sum())
        return Outcome(
            attack=self.name,
            knows="the other one in the group",
            measure="confidence",
            people=view.records,
            exposed=exposed,
            prior=1 / view.records,
            posterior=1.0 if exposed else 0.0,
            threshold=1.0,
            findings=(),
            remedy="groups of at least three",
        )
