"""The real training of a network, held after an epoch; and what its rehearsal must gain to count as helpful."""

import threading

from opengcd.workspace import adaptation

NEVER, ALWAYS = 2.0, -2.0
"""A gain that no rehearsal has, and one that every rehearsal has."""


class HeldTraining:
    """Holds the training of a workspace's network after an epoch of one of its curves."""

    def __init__(self, monkeypatch, curve, epoch):
        self.reached, self.go_on = threading.Event(), threading.Event()
        train = adaptation.adapt_network

        def holding(*args, on_epoch, **options):
            def hold(name, point):
                on_epoch(name, point)
                if (name, point.epoch) == (curve, epoch):
                    self.reached.set()
                    assert self.go_on.wait(60)

            return train(*args, on_epoch=hold, **options)

        monkeypatch.setattr(adaptation, "adapt_network", holding)
