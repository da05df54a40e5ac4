"""How large images become on their way into a network."""

from PIL import Image


def watch_sizes(monkeypatch):
    """Return a list that gets the pixels of each image that Pillow resizes, before or after, whichever are more.

    One that would fill the memory fails.
    """
    sizes, resize = [], Image.Image.resize

    def counted(image, size, *arguments, **settings):
        sizes.append(max(image.width * image.height, size[0] * size[1]))
        assert sizes[-1] < 100_000_000
        return resize(image, size, *arguments, **settings)

    monkeypatch.setattr(Image.Image, "resize", counted)
    return sizes
