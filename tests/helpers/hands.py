"""The hands of a person at a page: a mouse, a keyboard or a finger, and nothing but it. Words are typed by each."""

from typing import ClassVar

from playwright.sync_api import expect

DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
WORDS = 30_000
"""Milliseconds until a field, a button or a choice must be there."""
SAME = "(one, there) => there === one"


class Mouse:
    """Clicks what can be seen and is not covered."""

    options: ClassVar = DESK

    def __init__(self, page):
        self.page = page

    def press(self, target):
        """Press a button, a link, or what else answers."""
        expect(target).to_be_enabled(timeout=WORDS)
        self._hit(target)

    def pick(self, radio):
        """Make a choice, by its words."""
        self._hit(radio.locator("xpath=ancestor::label"))
        expect(radio).to_be_checked()

    def write(self, field, text):
        self._hit(field)
        self.page.keyboard.insert_text(text)

    def open(self, card):
        """Open a group."""
        self._hit(card.locator(".mosaic"))

    def select(self, grid, cells):
        """Select images, in the order in which they are shown."""
        for cell in cells:
            self._hit(grid.locator(f"#{cell}"))

    def _hit(self, target):
        target.click()


class Finger(Mouse):
    """Taps on a phone."""

    options: ClassVar = PHONE

    def _hit(self, target):
        target.tap()


class Keyboard(Mouse):
    """Tabs from one thing to the next, and presses what has the focus."""

    MOST: ClassVar = 100
    """Presses of Tab until a person would give up."""

    def pick(self, radio):
        """Tab leads to the chosen one of some choices, and arrows to the others."""
        expect(radio).to_be_attached(timeout=WORDS)
        self._reach("(one, there) => there?.type === 'radio' && there.name === one.name", radio)
        for _ in range(self.MOST):
            if radio.is_checked():
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"No arrow leads to {radio}")

    def write(self, field, text):
        self._reach(SAME, field)
        self.page.keyboard.type(text)

    def open(self, card):
        self._reach("(one, there) => there?.matches('.card.group > *')", card)
        self._walk(lambda: card.evaluate("(one) => one === document.activeElement"))
        self.page.keyboard.press("o")

    def select(self, grid, cells):
        self._reach(SAME, grid)
        for cell in cells:
            self._walk(lambda cell=cell: grid.get_attribute("aria-activedescendant") == cell)
            self.page.keyboard.press("Space")

    def _hit(self, target):
        self._reach(SAME, target)
        self.page.keyboard.press("Enter")

    def _walk(self, there):
        """Press arrows, from the first on, until something holds."""
        self.page.keyboard.press("Home")
        for _ in range(self.MOST):
            if there():
                return
            self.page.keyboard.press("ArrowRight")
        raise AssertionError("No arrow leads there")

    def _reach(self, found, target):
        target.wait_for(state="attached")
        for _ in range(self.MOST):
            if target.evaluate(f"(one) => ({found})(one, document.activeElement)"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {target}")
